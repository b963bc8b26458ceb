"""Limit how often each caller may call, counted in this process. Pure: ids and time come in."""

import math
from collections import defaultdict, deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


@dataclass
class RateLimit:
    """At most so many calls per person in any minute and any hour; 0 means no limit."""

    per_minute: int = 0
    per_hour: int = 0
    _passed: dict[str, deque] = field(default_factory=lambda: defaultdict(deque))

    def allow(self, person: object, *, now: datetime) -> bool:
        """Count one more call and return True, or return False when it is over a limit."""
        if not (self.per_minute or self.per_hour):
            return True
        times = self._passed[str(person)]
        while times and times[0] <= now - HOUR:
            times.popleft()
        minute = sum(at > now - MINUTE for at in times)
        if (self.per_minute and minute >= self.per_minute) or (
            self.per_hour and len(times) >= self.per_hour
        ):
            return False
        times.append(now)
        return True

    def wait(self, person: object, *, now: datetime) -> int:
        """Return the whole seconds until this person may call again."""
        times = self._passed[str(person)]
        full = [timedelta(0)]
        for limit, span in ((self.per_minute, MINUTE), (self.per_hour, HOUR)):
            if limit and len(times) >= limit:
                full.append(times[-limit] + span - now)
        return max(0, math.ceil(max(full).total_seconds()))
