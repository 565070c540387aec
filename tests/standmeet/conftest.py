import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

from tests.gate import Gate
from tests.ports import free_port
from tests.processes import ROOT, environment, until


class Web:
    """A real web server whose way to the database leads through a gate."""

    def __init__(self, gate: Gate, log: Path) -> None:
        self.gate, self.log = gate, log
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        with log.open("w") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "uvicorn", "standmeet.asgi:application", "--port", str(port)],
                cwd=ROOT,
                env={**environment(), "DATABASE_URL": gate.url(), "PUBLIC_URL": "https://meet.example.org"},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        until(self.answers, seconds=30, what="the web server answers")

    def answers(self) -> bool:
        try:
            self.ask()
        except requests.ConnectionError:
            return False
        return True

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)

    def ask(self) -> tuple[int, str, float]:
        began = time.monotonic()
        answer = requests.get(f"{self.url}/healthz", timeout=30)
        return answer.status_code, answer.json()["database"], time.monotonic() - began


@pytest.fixture
def start_web(transactional_db: None, tmp_path: Path) -> Iterator[Callable[[], Web]]:
    gate = Gate()
    started: list[Web] = []

    def start() -> Web:
        started.append(Web(gate, tmp_path / f"web{len(started)}.log"))
        return started[-1]

    yield start
    for web in started:
        web.stop()
    gate.shut()


@pytest.fixture
def web(start_web: Callable[[], Web]) -> Web:
    return start_web()
