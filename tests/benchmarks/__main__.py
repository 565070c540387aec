"""./run bench [NAME…] [--json]: measure the queue beside the limits of this machine and of its Postgres."""

import argparse
import os
import secrets
import signal
import sys
from importlib import import_module
from typing import Any

from tests.benchmarks import report
from tests.benchmarks.database import Unusable, bench_database
from tests.benchmarks.machine import quiet

NAMES = ("wake", "throughput", "claim", "idle", "waiters", "mcp", "panel", "storm")


def chosen(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./run bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(NAMES)}; all where none is given")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args(argv)
    if unknown := [name for name in options.names if name not in NAMES]:
        parser.error(f"there is no benchmark {', '.join(map(repr, unknown))}; there are: {', '.join(NAMES)}")
    options.names = options.names or list(NAMES)
    return options


def interrupted(signum: int, frame: Any) -> None:
    """Unwind once, through every `finally`; what stops the workers and drops the database is not cut short."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


def set_up(database_url: str) -> None:
    for name in [name for name in os.environ if name.startswith("WORKER_")]:
        del os.environ[name]  # the default sizes are what is measured
    os.environ |= {"DATABASE_URL": database_url, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    for name in ("SECRET_KEY", "INSTANCE_SECRET"):
        os.environ.setdefault(name, secrets.token_urlsafe(48))
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", run_syncdb=True, verbosity=0)


def measure(names: list[str], as_json: bool) -> None:
    from tests.benchmarks.fleet import nothing_left

    for name in names:
        benchmark = import_module(f"tests.benchmarks.{name}")
        busy = quiet()
        with nothing_left():
            figures = benchmark.run()
        if as_json:
            report.line(name, figures, busy)
        else:
            report.table(name, figures, benchmark.WANTED, busy)


def main() -> int:
    options = chosen(sys.argv[1:])
    signal.signal(signal.SIGINT, interrupted)
    signal.signal(signal.SIGTERM, interrupted)
    try:
        with bench_database() as url:
            set_up(url)
            measure(options.names, options.json)
    except Unusable as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted: the workers are stopped, and the benchmarks' database is dropped.\n")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
