import pytest
from django.core.management import CommandError, call_command


@pytest.mark.parametrize("queues", ["notify", "notify=x", "fast=1", "notify=1,notify=2", "notify=1000", "notify=0"])
def test_a_worker_with_unsound_queues_does_not_start(queues) -> None:
    with pytest.raises(CommandError):
        call_command("worker", "--queues", queues)
