"""`python -m tests.probe.stops`: a worker's loop, again and again, with SIGTERM at the next step of it each time.

Prints the places where it was not heard, and how many were tried.
"""

import os
import signal
import sys
import uuid
from types import FrameType
from typing import Any

import django

DEAF = 1.0  # seconds


class NotHeard(BaseException):
    pass


def attempt(step: int) -> tuple[bool, str]:
    """Whether the loop has so many steps until it blocks, and the place, if it went deaf there."""
    from tasks.queue.hands import Hands
    from tasks.queue.runner import Runner
    from tasks.queue.slots import Slots

    read, write = os.pipe()
    os.write(write, b".")  # once around
    runner = Runner("index", uuid.uuid4(), 0, Slots(1), Hands(1), read)
    steps, place = 0, ""

    def local(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal steps, place
        frame.f_trace_opcodes = True
        if event == "opcode":
            steps += 1
            if steps == step:
                place = f"line {frame.f_lineno}, opcode {frame.f_lasti}"
                signal.setitimer(signal.ITIMER_REAL, DEAF)
                os.kill(os.getpid(), signal.SIGTERM)
        return local

    def give_up(*_: object) -> None:
        raise NotHeard

    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, DEAF)
    sys.settrace(lambda frame, event, arg: local if frame.f_code is Runner.session.__code__ else None)
    try:
        runner.run()
    except NotHeard:
        return bool(place), place
    finally:
        sys.settrace(None)
        signal.setitimer(signal.ITIMER_REAL, 0)
        os.close(read)
        os.close(write)
    return True, ""


def main() -> None:
    django.setup()
    step, deaf = 0, set()
    while True:
        step += 1
        reached, place = attempt(step)
        if not reached:
            break
        if place:
            deaf.add(place)
    sys.stdout.write(f"{sorted(deaf)} of {step - 1 > 20 and 'many'}\n")


if __name__ == "__main__":
    main()
