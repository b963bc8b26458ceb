"""How long each stage of a recall took."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """Milliseconds a stage."""

    def __init__(self):
        self.ms: dict[str, float] = {}
        self.began = time.perf_counter()

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            now = time.perf_counter()
            self.ms[stage] = round((now - began) * 1000, 2)
            self.ms["total"] = round((now - self.began) * 1000, 2)
