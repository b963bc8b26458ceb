"""What the owner must see, told once."""

from memory.models import Notice, Space


def tell(
    space: Space,
    *,
    kind: str,
    text: str,
    key: str,
    level: str = Notice.Level.INFO,
    link: str = "",
) -> Notice | None:
    """The new notice, or None when the same key was told before."""
    notice, is_new = Notice.objects.get_or_create(
        space=space,
        key=key[:120],
        defaults={"kind": kind, "text": text, "level": level, "link": link},
    )
    return notice if is_new else None
