"""django-q2's process tree (Cluster, Sentinel, guard) around our own workers, bell and housekeeper.

q2 forks, names, guards and re-spawns the processes. Nothing of its multiprocessing queues, events and timers is in
use, since a killed process can hold them for good: what is shared is plain bytes and pipes (slots.py, bell.py). What
is relied on in q2 is pinned by tests/tasks/queue/test_q2_pin.py.
"""

import gc
import logging
import os
import signal
import time
import uuid
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from django.db import connection, connections
from django_q.brokers import Broker
from django_q.cluster import Cluster, Sentinel, get_mp_context

from tasks import registry
from tasks.queue import bell, housekeeper
from tasks.queue.bell import BELL, Pipe
from tasks.queue.forever import NO_DATABASE
from tasks.queue.hands import Hands
from tasks.queue.housekeeper import HOUSEKEEPER
from tasks.queue.processes import die_with
from tasks.queue.runner import Runner
from tasks.queue.slots import Flag, Slots

log = logging.getLogger("standmeet.tasks")
SIGNALS = {signal.SIGTERM, signal.SIGCHLD}
GRACE = 20.0  # seconds that running tasks have to end after SIGTERM
STALE = 30.0  # seconds without a tick after which the bell or the housekeeper is taken for frozen
RESPAWN_PAUSE = 0.05


class NoBroker(Broker):
    """q2 asks its broker for statistics and a name; tasks do not pass through it."""

    def set_stat(self, key: str, value: str, timeout: int) -> None:
        pass

    def ping(self) -> bool:
        return True

    def info(self) -> str:
        return "task table"


class StopFlag(Flag):
    """In the place of q2's stop event. The guard waits on it, and so wakes on SIGTERM and on a child's end."""

    watch: Callable[[], None] = staticmethod(lambda: None)

    def wait(self, seconds: float) -> bool:
        caught = signal.sigtimedwait(SIGNALS, seconds)
        if caught and caught.si_signo == signal.SIGTERM:
            self.set()
        elif caught:
            time.sleep(RESPAWN_PAUSE)
        self.watch()
        return self.is_set()


class Timer:
    """In the place of q2's timer, which a killed worker could hold locked: 0 when the worker's task is overdue.

    The housekeeper kills at the limit; the guard does two seconds later, should the housekeeper be frozen.
    """

    def __init__(self, slots: Slots, slot: int) -> None:
        self.slots, self.slot, self.late = slots, slot, False

    def get_lock(self) -> nullcontext[None]:
        return nullcontext()

    @property
    def value(self) -> int:
        deadline = self.slots.deadline(self.slot)
        self.late = self.late or bool(deadline and time.monotonic() > deadline + 2)
        return 0 if self.late else -1


def child(parent: int, run: Callable[..., None], *args: Any) -> None:
    """What each forked process does first."""
    die_with(parent)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    run(*args)


def work(queue: str, group: uuid.UUID, slot: int, slots: Slots, hands: Hands, pipes: dict[str, Pipe]) -> None:
    for pipe in pipes.values():  # so that a read ends when the bell and the sentinel are gone
        os.close(pipe.write)
    Runner(queue, group, slot, slots, hands, pipes[queue].read).run()


class Guard(Sentinel):
    """q2's sentinel over our processes."""

    def __init__(
        self, sizes: dict[str, int], parent: int, stop: StopFlag, started: Flag, cluster_id: uuid.UUID
    ) -> None:
        die_with(parent)  # SIGTERM and SIGCHLD stay blocked here: StopFlag.wait takes them
        super().__init__(stop, started, cluster_id, NoBroker(), start=False)
        self.queues = [queue for queue, size in sizes.items() for _ in range(size)]
        self.pool_size = len(self.queues)
        self.slots, self.hands = Slots(self.pool_size), Hands(self.pool_size)
        self.pipes = {queue: Pipe.of(size) for queue, size in sizes.items() if size}
        self.last = Flag()
        stop.watch = self.kill_frozen
        self.start()

    def free_slot(self) -> int:
        return min(set(range(self.pool_size)) - {process.timer.slot for process in self.pool})

    def spawn_worker(self) -> None:
        slot = self.free_slot()
        self.slots.vacate(slot)
        process = self.spawn_process(
            child, self.pid, work, self.queues[slot], self.cluster_id, slot, self.slots, self.hands, self.pipes
        )
        process.timer = Timer(self.slots, slot)
        self.pool.append(process)

    def spawn_pusher(self) -> Any:
        self.slots.tick(BELL)
        return self.spawn_process(child, self.pid, bell.run, self.pipes, self.slots)

    def spawn_monitor(self) -> Any:
        self.slots.tick(HOUSEKEEPER)
        return self.spawn_process(child, self.pid, housekeeper.run, self.cluster_id, self.slots, self.hands, self.last)

    def kill_frozen(self) -> None:
        """The guard re-spawns only what has died."""
        for who, process in ((BELL, self.pusher), (HOUSEKEEPER, self.monitor)):
            if process and process.is_alive() and time.monotonic() > self.slots.last_tick(who) + STALE:
                log.error("process %s has not stirred for %s s: killing it", process.pid, STALE)
                process.kill()

    def reincarnate(self, process: Any) -> None:
        process.kill()  # q2 would only ask a worker that is overdue; its slot must be free
        process.join()
        super().reincarnate(process)

    def stop(self) -> None:
        end = time.monotonic() + GRACE
        ending = [*self.pool, self.pusher]
        for process in ending:
            process.terminate()
        for process in ending:
            while process.is_alive() and time.monotonic() < end:
                process.join(min(1.0, max(0.01, end - time.monotonic())))
                process.terminate()  # again: a signal between a look and a read was not heard
        late = [process for process in ending if process.is_alive()]
        for process in late:
            log.warning("process %s did not end in time: killing it", process.pid)
            os.kill(process.pid, signal.SIGSTOP)
        self.last.set()  # what they hold is given back while they stand still: that of a dead worker counts as failed
        self.monitor.join(2 if late else 0)
        for process in late:
            process.kill()
            process.join()
        self.pool.clear()
        self.monitor.join(3)
        if self.monitor.is_alive():
            self.monitor.kill()
            self.monitor.join()


class WorkerGroup(Cluster):
    """What `manage.py worker` runs: the main process, which keeps a sentinel alive until it is told to stop."""

    def __init__(self, sizes: dict[str, int]) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS | {signal.SIGINT})  # before q2 installs its handlers
        super().__init__(NoBroker())
        self.sizes = sizes

    def sig_handler(self, signum: int, frame: Any) -> None:
        """The signals are taken by `run`."""

    def start(self) -> int:
        self.stop_event, self.start_event = StopFlag(), Flag()
        self.cluster_id = uuid.uuid4()
        self.sentinel = get_mp_context().Process(
            target=Guard, args=(self.sizes, self.pid, self.stop_event, self.start_event, self.cluster_id)
        )
        self.sentinel.start()
        return int(self.pid)

    def run(self) -> int:
        """Work until SIGTERM or SIGINT; a sentinel that dies meanwhile, and takes its processes with it, is replaced.

        Returns 0 when everything ended as asked.
        """
        preload()
        self.start()
        ends = {signal.SIGTERM, signal.SIGINT}
        # When a freeze outlasts the wait, CPython returns a siginfo that it never filled: only these two end it.
        while not (caught := signal.sigtimedwait(SIGNALS | ends, 1)) or caught.si_signo not in ends:
            if not self.sentinel.is_alive():
                log.error("the sentinel died (exit code %s): starting anew", self.sentinel.exitcode)
                time.sleep(RESPAWN_PAUSE)
                self.start()
        os.kill(self.sentinel.pid, signal.SIGTERM)
        self.sentinel.join(GRACE + 8)
        if self.sentinel.is_alive():
            self.sentinel.kill()
            self.sentinel.join()
        return 0 if self.sentinel.exitcode == 0 else 1


def preload() -> None:
    """Import what handlers need before the forks, so that the processes share its memory."""
    for kind in registry.kinds().values():
        registry.resolve(kind.handler)
    try:  # as a user of the embedded Postgres, which the last one stops
        connection.ensure_connection()
    except NO_DATABASE as error:
        log.warning("the database does not answer yet (%s)", str(error).strip())
    connections.close_all()
    gc.collect()
    gc.freeze()
