from django.db.models import TextChoices


class State(TextChoices):
    PENDING = "pending"
    RUNNING = "running"
    RETRYABLE = "retryable"
    COMPLETED = "completed"
    DISCARDED = "discarded"
    CANCELLED = "cancelled"


WAITING = frozenset({State.PENDING, State.RETRYABLE})
TERMINAL = frozenset({State.COMPLETED, State.DISCARDED, State.CANCELLED})

# What may become what, and by which statement (tasks/queue/sql/<name>.sql).
TRANSITIONS: dict[str, tuple[frozenset[State], frozenset[State]]] = {
    "claim": (WAITING, frozenset({State.RUNNING})),
    "complete": (frozenset({State.RUNNING}), frozenset({State.COMPLETED})),
    "fail": (frozenset({State.RUNNING}), frozenset({State.RETRYABLE, State.DISCARDED})),
    "discard": (frozenset({State.RUNNING}), frozenset({State.DISCARDED})),
    "snooze": (frozenset({State.RUNNING}), frozenset({State.PENDING})),
    "release": (frozenset({State.RUNNING}), frozenset({State.PENDING})),
    "hand_back": (frozenset({State.RUNNING}), frozenset({State.PENDING})),
    "rescue": (frozenset({State.RUNNING}), frozenset({State.RETRYABLE, State.DISCARDED})),
    "cancel": (WAITING | {State.RUNNING}, frozenset({State.CANCELLED})),
    "retry": (frozenset({State.DISCARDED, State.CANCELLED}), frozenset({State.PENDING})),
}

# Statements that make two transitions at once.
COMBINED = {"complete_and_claim": ("complete", "claim"), "complete_and_claim_hand": ("complete", "claim")}


def may_have_acted(state: str, attempt: int, last_failed: int) -> bool:
    """Whether a task was cancelled while it ran: its last attempt has not failed, and may have had its effect."""
    return state == State.CANCELLED and attempt > last_failed
