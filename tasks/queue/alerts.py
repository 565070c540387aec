from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Alert:
    """Something about the queue that the owner should know: a fixed name, a sentence, and since when."""

    name: str
    sentence: str
    since: datetime | None


def alerts() -> list[Alert]:
    return []
