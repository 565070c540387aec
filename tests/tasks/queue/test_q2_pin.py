"""What tasks/queue/cluster.py relies on in django-q2. Another version is read again before it is let in."""

import hashlib
import inspect
from importlib.metadata import version
from typing import Any

import pytest
from django_q import brokers, cluster, conf, queues, status

from tasks.queue.cluster import Guard, NoBroker, WorkerGroup

VERSION = "1.11.1"
SOURCES: dict[str, tuple[Any, str, str]] = {
    "get_mp_context": (cluster.get_mp_context, "5c270063f769865f", "forks, so that children share memory and pipes"),
    "Cluster.__init__": (
        cluster.Cluster.__init__,
        "140f22e15d6980b0",
        "takes a broker, sets pid, installs sig_handler twice",
    ),
    "Sentinel.__init__": (
        cluster.Sentinel.__init__,
        "6ddfa0bde90a4a73",
        "with start=False does nothing but set attributes",
    ),
    "Sentinel.start": (cluster.Sentinel.start, "ad6269e4eb57a83e", "pings the broker, spawn_cluster, guard"),
    "Sentinel.spawn_process": (
        cluster.Sentinel.spawn_process,
        "0f72360b891e9e95",
        "starts a daemon and returns it, not in the pool",
    ),
    "Sentinel.spawn_cluster": (
        cluster.Sentinel.spawn_cluster,
        "254756e3c1916efd",
        "spawns pool_size workers, then monitor and pusher",
    ),
    "Sentinel.guard": (
        cluster.Sentinel.guard,
        "b48dce5446f6cad6",
        "p.timer.get_lock(), .value, reincarnate, stop_event.wait, stop",
    ),
    "Sentinel.reincarnate": (
        cluster.Sentinel.reincarnate,
        "1c3dc62b7aa35a00",
        "takes it from the pool, spawns, reads timer.value",
    ),
    "Sentinel.queue_name": (cluster.Sentinel.queue_name, "abaa91b9e35889f5", "asks the broker for list_key"),
    "Sentinel.status": (cluster.Sentinel.status, "8e350849d7cd41ec", "reads the two flags and the empty queues"),
    "Broker.__init__": (brokers.Broker.__init__, "c9ba428d5f24a950", "opens no connection of ours"),
    "Stat.__init__": (status.Stat.__init__, "d6ad6a3827c85937", "reads the sentinel's attributes"),
    "Stat.save": (status.Stat.save, "50f6db513264c620", "tells the broker by set_stat"),
    "Queue": (queues.Queue, "4b08355a852062e3", "takes no lock until it is used"),
}


def digest(source: Any) -> str:
    return hashlib.sha256(inspect.getsource(source).encode()).hexdigest()[:16]


def test_django_q2_is_the_version_that_was_read() -> None:
    assert version("django-q2") == VERSION, "read tasks/queue/cluster.py beside the new django_q/cluster.py"


@pytest.mark.parametrize("name", SOURCES)
def test_what_is_relied_on_in_django_q2_reads_as_it_did(name: str) -> None:
    source, read, relied_on = SOURCES[name]

    assert digest(source) == read, f"{name} has changed; tasks/queue/cluster.py relies on this: it {relied_on}"


def test_the_guard_looks_twice_a_second_and_runs_no_scheduler() -> None:
    assert conf.Conf.GUARD_CYCLE == 0.5
    assert conf.Conf.SCHEDULER is False
    assert conf.Conf.SYNC is False


def test_ours_override_methods_that_exist_with_their_signatures() -> None:
    for ours, theirs, names in (
        (Guard, cluster.Sentinel, ("spawn_worker", "spawn_pusher", "spawn_monitor", "reincarnate", "stop")),
        (WorkerGroup, cluster.Cluster, ("start", "sig_handler")),
        (NoBroker, brokers.Broker, ("set_stat", "ping", "info")),
    ):
        for name in names:
            assert name in vars(ours), f"{ours.__name__} no longer overrides {name}"
            mine, original = (list(inspect.signature(getattr(c, name)).parameters) for c in (ours, theirs))
            assert mine == original, f"{ours.__name__}.{name} takes {mine}, and django-q2 passes {original}"
