"""Handlers of the tests' kinds. What each is to do stands in its arguments."""

import os
import signal
import time
from datetime import timedelta
from pathlib import Path

from tasks.declare import Final, Happened
from tasks.queue.outcomes import Discard, Snooze
from tests.probe.kinds import Probe
from tests.probe.models import Effect, Settled


def noop(probe: Probe) -> None:
    """For the benchmarks: touches nothing."""


def act(probe: Probe) -> None:
    """Record the effect, then do as told."""
    Effect.objects.create(name=probe.name, pid=os.getpid())
    runs = Effect.objects.filter(name=probe.name).count()
    if probe.times and runs > probe.times:
        return
    match probe.do:
        case "fail":
            raise RuntimeError(probe.text)
        case "discard":
            raise Discard(probe.text)
        case "snooze":
            raise Snooze(timedelta(seconds=probe.seconds))
        case "sleep":
            time.sleep(probe.seconds)
        case "until":  # somebody makes the file
            while not Path(probe.text).exists():
                time.sleep(0.01)
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "spin":  # holds the interpreter
            pow(3, 10**9)
        case "exit":
            raise SystemExit(3)


def ended(probe: Probe, final: Final) -> None:
    if probe.text == "cannot settle":
        raise RuntimeError("no such row")
    Settled.objects.update_or_create(name=probe.name, defaults={"state": final.state, "reason": final.reason})


def hear(happened: Happened) -> None:
    Effect.objects.create(name=happened.event_id, pid=os.getpid())
