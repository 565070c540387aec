"""What else the machine is doing."""

import time

import psutil

QUIET = 0.25
PATIENCE = 45.0  # seconds, before a benchmark
BETWEEN = 15.0  # and between its rounds


def quiet(patience: float = PATIENCE) -> float:
    """Wait, with bounded patience, until others leave the processors alone; the busy share (0 to 1) seen last."""
    end = time.monotonic() + patience
    while True:
        busy = psutil.cpu_percent(interval=1.0) / 100
        if busy < QUIET or time.monotonic() > end:
            return busy
