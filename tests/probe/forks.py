"""`python -m tests.probe.forks ID`: wait for that task here and in a fork, and count the listeners."""

import os
import sys

import django


def main(task_id: int) -> int:
    django.setup()
    from tasks.queue.completion import Done, wait, waits
    from tests.tasks.queue.groups import sessions

    def answered() -> bool:
        return isinstance(wait([task_id], 5), Done)

    before = answered()
    pid = os.fork()
    if pid == 0:
        mine = answered()
        os._exit(0 if mine and sessions("standmeet listener") == 2 else 1)
    _, status = os.waitpid(pid, 0)
    after = answered() and sessions("standmeet listener") == 1
    waits().close()
    return 0 if before and status == 0 and after else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
