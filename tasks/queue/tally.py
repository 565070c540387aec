"""How waits ended and how long they took: counted here, and added up in the database for all processes together.

A scrape meets any one of several web processes, on any machine: what each keeps to itself could not be added up there.
The listener's thread writes down what has come together, once a second at most, so that no waiter waits for it.
"""

import bisect
import threading
from collections import Counter
from typing import Any

import psycopg
from django.db import models

from tasks.queue.sql import statement

BOUNDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 2.5, 5.0, 10.0, 20.0, 30.0, float("inf"))  # seconds
OUTCOMES = ("done", "receipt", "capped")


class WaitCount(models.Model):
    """So many waits ended like this within `le` seconds (and after the bound below it), and took so long in all."""

    outcome = models.CharField(max_length=10)
    le = models.FloatField()
    waits = models.BigIntegerField()
    seconds = models.FloatField()

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint("outcome", "le", name="wait_count_once")]

    def __str__(self) -> str:
        return f"{self.outcome} within {self.le} s"


class Tally:
    """What this process has not written down yet."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waits: Counter[tuple[str, float]] = Counter()
        self.seconds: Counter[tuple[str, float]] = Counter()

    def add(self, outcome: str, seconds: float) -> None:
        """Count one wait: its outcome is done, receipt or capped (64 waited already)."""
        key = (outcome, BOUNDS[bisect.bisect_left(BOUNDS, seconds)])
        with self.lock:
            self.waits[key] += 1
            self.seconds[key] += seconds  # type: ignore[assignment]

    def write(self, conn: psycopg.Connection[Any]) -> None:
        """Add it to the table; kept for the next time where that fails, which raises."""
        with self.lock:
            keys = sorted(self.waits)
            waits, seconds = [self.waits[key] for key in keys], [self.seconds[key] for key in keys]
        if not keys:
            return
        outcomes, les = [outcome for outcome, _ in keys], [le for _, le in keys]
        params = {"outcomes": outcomes, "les": les, "waits": waits, "seconds": seconds}
        conn.execute(statement("add_waits"), params)
        with self.lock:
            for key, n, time in zip(keys, waits, seconds, strict=True):
                self.waits[key] -= n
                self.seconds[key] -= time
            self.waits = +self.waits
