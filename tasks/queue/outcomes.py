"""What a handler may say besides returning (done) and failing (any other exception: try again)."""

from datetime import timedelta


class Snooze(Exception):
    """Not now: run again after `delay`. No attempt is spent."""

    def __init__(self, delay: timedelta, reason: str = "") -> None:
        super().__init__(reason or f"again in {delay}")
        self.delay = delay


class Discard(Exception):
    """It cannot succeed: end now, with the reason in words."""
