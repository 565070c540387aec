"""python -m standmeet.localpg url | psql [ARGUMENTS] | stop"""

import signal
import subprocess
import sys
from urllib.parse import quote

from . import NAME, LocalPostgresError, ensure_running, place, stop


def main(command: str, *args: str) -> int | str | None:
    """What sys.exit() takes."""
    match command:
        case "url":
            sys.stdout.write(f"postgresql://{NAME}@/{NAME}?host={quote(str(place().sockets), safe='/')}\n")
            return 0
        case "psql":
            ensure_running()
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for psql, which has a handler of its own
            here = place()
            return subprocess.call([here.binaries / "psql", "-h", here.sockets, "-U", NAME, "-d", NAME, *args])
        case "stop":
            sys.stdout.write("Postgres has stopped.\n" if stop() else "Postgres was not running.\n")
            return 0
    return __doc__


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:] or ["help"]))
    except LocalPostgresError as e:
        sys.exit(str(e))
