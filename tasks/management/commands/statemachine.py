from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from tasks.queue.states import TERMINAL, TRANSITIONS, State

PATH = settings.BASE_DIR / "docs" / "task-states.md"


def draw() -> str:
    """The task's states and transitions, as a Mermaid diagram in Markdown."""
    lines = [
        "# The states of a task",
        "",
        "Drawn by `./run statemachine` from `tasks/queue/states.py`; the tests compare.",
        "",
        "```mermaid",
        "stateDiagram-v2",
        "    [*] --> pending: enqueue",
    ]
    order = list(State)
    for name, (sources, targets) in TRANSITIONS.items():
        for source in sorted(sources, key=order.index):
            lines += [f"    {source} --> {target}: {name}" for target in sorted(targets, key=order.index)]
    lines += [f"    {state} --> [*]: prune" for state in order if state in TERMINAL]
    return "\n".join([*lines, "```", ""])


class Command(BaseCommand):
    help = "Draw the states of a task into docs/task-states.md."

    def handle(self, *args: Any, **options: Any) -> None:
        PATH.write_text(draw())
        self.stdout.write(f"wrote {PATH.relative_to(settings.BASE_DIR)}")
