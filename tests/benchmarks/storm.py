"""SIGKILL, at random, over all processes below `manage.py worker`'s own while jobs run; then of that process itself.

lost                    jobs that did not complete
orphans                 processes that once belonged to the worker, live, and belong to it no more
full_strength           every process is there again and each queue answers, without help
alive_after_main_kill   processes of the worker that live three seconds after its main process was killed
takeover_s              from the start of another worker to the end of the job that was running then
"""

import random
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from django.db import transaction

from tasks.declare import TaskKind
from tasks.queue.enqueue import enqueue
from tasks.queue.models import Task
from tests.benchmarks.fleet import BESIDE_WORKERS, drained, worker, workers
from tests.benchmarks.ledger import finished_twice, ledger
from tests.benchmarks.report import Figures
from tests.probe.kinds import FETCH, MANY, NOOP, NOTIFY, ONE, Probe
from tests.processes import WorkerProcess, until

KILLS = 40
MIX: list[tuple[TaskKind, int, float]] = [(NOOP, 700, 0), (MANY, 900, 0.04), (NOTIFY, 150, 0.1), (FETCH, 250, 0.1)]
ATTEMPTS = 60
WANTED = {
    "lost": ("==", 0),
    "orphans": ("==", 0),
    "finished_twice": ("==", 0),
    "full_strength": ("==", True),
    "alive_after_main_kill": ("==", 0),
}


def lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def add_jobs() -> int:
    jobs = [(kind, seconds) for kind, n, seconds in MIX for _ in range(n)]
    random.shuffle(jobs)
    with transaction.atomic():
        for n, (kind, seconds) in enumerate(jobs):
            enqueue(kind, Probe(f"storm {n}", "sleep" if seconds else "", seconds=seconds))
        Task.objects.update(max_attempts=ATTEMPTS)  # of whatever kind: the storm must not spend them
    return len(jobs)


def kill_at_random(running: WorkerProcess) -> set[psutil.Process]:
    """Every process that was seen meanwhile."""
    seen: set[psutil.Process] = set()
    kills = 0
    while kills < KILLS:
        time.sleep(random.uniform(0.15, 0.3))
        tree = [process for process in running.children() if lives(process)]
        seen.update(tree)
        if tree:
            random.choice(tree).kill()
            kills += 1
    return seen


def full_strength(running: WorkerProcess) -> bool:
    def complete() -> bool:
        return sum(map(lives, running.children())) == workers() + BESIDE_WORKERS

    try:
        until(complete, seconds=10)
        for kind in (NOOP, NOTIFY, FETCH, ONE):
            enqueue(kind, Probe("after the storm"))
        drained(10)
    except AssertionError:
        return False
    return running.process.poll() is None and complete()


def storm() -> Figures:
    with worker() as running, ledger():
        began = time.monotonic()
        jobs = add_jobs()
        seen = kill_at_random(running)
        drained()
        seconds = time.monotonic() - began
        completed = Task.objects.filter(state="completed").count()
        strong = full_strength(running)
        return {
            "kills": KILLS,
            "jobs": jobs,
            "lost": jobs - completed,
            "orphans": sum(map(lives, seen - set(running.children()))),
            "finished_twice": finished_twice(),
            "most_attempts": max(Task.objects.values_list("attempt", flat=True)),
            "seconds": seconds,
            "full_strength": strong,
        }


def main_killed() -> Figures:
    with TemporaryDirectory() as folder:
        go = Path(folder) / "go"
        with worker() as running:
            job = enqueue(MANY, Probe("held", "until", text=str(go)))
            held = Task.objects.filter(pk=job)
            until(lambda: held.filter(state="running").exists(), what="the job runs")
            tree = [running.main, *running.children()]
            running.main.kill()
            running.process.wait(5)
            time.sleep(3)
            alive = [process for process in tree if lives(process)]
            for process in alive:
                process.kill()
        go.touch()
        began = time.monotonic()
        with worker():
            drained(30)
            seconds = time.monotonic() - began
        assert held.get().state == "completed", held.get().state
    return {"alive_after_main_kill": len(alive), "takeover_s": seconds}


def run() -> Figures:
    return storm() | main_killed()
