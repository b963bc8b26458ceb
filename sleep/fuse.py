"""The loss fuse: a night that would take too much away stops and asks instead."""

from dataclasses import dataclass

SHARE = 0.25
AT_LEAST = 20


@dataclass(frozen=True)
class Fuse:
    """How much of one tier a phase may archive before it must propose."""

    tier: str
    total: int
    share: float = SHARE
    at_least: int = AT_LEAST

    @property
    def limit(self) -> int:
        return max(self.at_least, int(self.total * self.share))

    def allows(self, count: int) -> bool:
        return count <= self.limit

    def state(self, count: int) -> dict:
        """What the night's page shows."""
        return {"tier": self.tier, "total": self.total, "limit": self.limit, "taken": count}
