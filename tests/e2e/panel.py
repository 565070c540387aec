"""What the tests of the Tasks panel have in common."""

from typing import Any

JOBS = "/admin/tasks/task/"


def row(page: Any, id: int) -> Any:
    return page.locator(f'[data-testid="tasks-row"][data-job-id="{id}"]')
