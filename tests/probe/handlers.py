"""Handlers of the tests' kinds. What each is to do stands in its arguments."""

import ast
import contextlib
import os
import signal
import time
from datetime import timedelta
from pathlib import Path

from django.db import OperationalError, connection, transaction
from django.utils.module_loading import import_string

from tasks.declare import Final, Happened, Nothing
from tasks.queue.completion import wait
from tasks.queue.outcomes import Discard, Snooze
from tests.probe.kinds import Probe
from tests.probe.models import Effect, Settled


def noop(probe: Probe) -> None:
    """For the benchmarks: touches nothing."""


def index(probe: Probe) -> None:
    """As an index engine does that answers only when it is up."""
    if not Path(probe.text).exists():
        raise ConnectionError("the engine does not answer")
    Effect.objects.create(name=probe.name, pid=os.getpid())


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
        case "fork":  # and the child leaves as programs do
            if os.fork() == 0:
                raise SystemExit(0)
        case "until mine":  # somebody makes the file of this process
            while not Path(f"{probe.text}.{os.getpid()}").exists():
                time.sleep(0.01)
        case "say":  # a Python literal: any character
            raise RuntimeError(ast.literal_eval(probe.text))
        case "raise":
            raise import_string(probe.text)
        case "look":
            raise Discard(f"in a transaction: {connection.in_atomic_block}")
        case "wait":
            wait([1], 1)
        case "leave atomic":
            transaction.atomic().__enter__()
        case "leave begun":
            connection.cursor().execute("BEGIN")
        case "cut":  # this worker loses its database session
            cut()


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def cut() -> None:
    with contextlib.suppress(OperationalError):
        connection.cursor().execute("SELECT pg_terminate_backend(pg_backend_pid())")


def ended(probe: Probe, final: Final) -> None:
    match probe.text.split(maxsplit=1):
        case ["cannot", "settle"]:
            raise RuntimeError("no such row")
        case ["cannot", "settle in SQL"]:
            Settled.objects.create(name=None)
        case ["cannot", "settle in time"]:  # an OperationalError, of a session that is in good health
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL statement_timeout = 1")
                cursor.execute("SELECT pg_sleep(1)")
        case ["cut", path] if not Path(path).exists():
            Path(path).touch()
            connection.cursor().execute("SELECT pg_terminate_backend(pg_backend_pid())")
    Settled.objects.update_or_create(name=probe.name, defaults={"state": final.state, "reason": final.reason})


def hear(happened: Happened) -> None:
    Effect.objects.create(name=happened.event_id, pid=os.getpid())


def tick(_: Nothing) -> None:
    Effect.objects.create(name="tick", pid=os.getpid())


def tick_and_fail(_: Nothing) -> None:
    Effect.objects.create(name="fails", pid=os.getpid())
    raise RuntimeError("the shelf is full")


def tick_and_hang(_: Nothing) -> None:
    Effect.objects.create(name="hangs", pid=os.getpid())
    time.sleep(60)
