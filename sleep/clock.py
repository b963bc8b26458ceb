"""When a night is due. Pure: times in, an answer out; local dates decide, never durations alone."""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

BETWEEN = timedelta(hours=20)


def zone(name: str) -> ZoneInfo:
    """The zone of that name, or UTC: a space with a zone nobody knows any more still sleeps."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


def local_date(now: datetime, timezone: str) -> date:
    return now.astimezone(zone(timezone)).date()


def due(
    now: datetime,
    *,
    timezone: str,
    hour: int,
    minute: int = 0,
    last_success: datetime | None,
    slept: bool,
    between: timedelta = BETWEEN,
) -> bool:
    """Past the hour on a local date that has not slept, and long enough after the last night.

    A wall clock that skips 02:30 is past it at 03:00; one that shows it twice has slept by then.
    A last night in the future (the clock was set back) counts as far away, not as just now.
    """
    if slept or now.astimezone(zone(timezone)).time() < time(hour, minute):
        return False
    return last_success is None or abs(now - last_success) >= between
