import threading
import time
from collections import OrderedDict


class Buckets:
    """Token buckets in this process's memory: `rate` a second, up to `burst` at once, for the last `size` keys."""

    def __init__(self, rate: float, burst: float, size: int = 10_000) -> None:
        self.rate, self.burst, self.size = rate, burst, size
        self.levels: OrderedDict[object, tuple[float, float]] = OrderedDict()
        self.lock = threading.Lock()

    def take(self, key: object) -> float:
        """0 where it is within the limit, otherwise the seconds until it is again."""
        with self.lock:
            now = time.monotonic()
            level, then = self.levels.pop(key, (self.burst, now))
            level = min(self.burst, level + (now - then) * self.rate)
            wait = 0.0 if level >= 1 else (1 - level) / self.rate
            self.levels[key] = (level if wait else level - 1, now)
            if len(self.levels) > self.size:
                self.levels.popitem(last=False)
            return wait
