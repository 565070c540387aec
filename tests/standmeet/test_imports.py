import subprocess
import sys
from pathlib import Path

from django.core.management import call_command

from tests.processes import ROOT


def test_the_rooms_import_only_what_the_house_allows() -> None:
    lint = Path(sys.executable).with_name("lint-imports")

    said = subprocess.run([lint, "--no-logo"], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)

    assert said.returncode == 0, said.stdout


def test_the_migrations_are_what_the_models_say(db: None) -> None:
    call_command("makemigrations", "--check", "--dry-run", "accounts", "requests", "tasks", verbosity=0)


def test_the_lock_names_no_address_and_has_hashes() -> None:
    lock = (ROOT / "requirements.lock").read_text()

    assert "://" not in lock
    assert lock.count("--hash=sha256:") > 100
