"""A gate between a process and the tests' Postgres: it can be shut (refused) or fall silent (a server that hangs)."""

import contextlib
import socket
import threading
from typing import Any

from django.db import connection

from tests.ports import free_port


class Gate:
    def __init__(self) -> None:
        params = connection.get_connection_params()
        self.host, self.number = str(params.get("host") or "localhost"), int(params.get("port") or 5432)
        self.params = params
        self.passing = threading.Event()
        self.passing.set()
        self.taken = 0
        self.open_sockets: list[socket.socket] = []
        self.port = free_port()
        self.open()

    def open(self) -> None:
        self.listening = socket.create_server(("127.0.0.1", self.port), backlog=64)
        self.passing.set()
        threading.Thread(target=self.accept, args=[self.listening], daemon=True).start()

    def shut(self) -> None:
        """Nobody listens, and whoever was connected is cut off."""
        with contextlib.suppress(OSError):
            self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()
        for sock in self.open_sockets:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        self.open_sockets.clear()
        self.passing.set()

    def silence(self) -> None:
        """Connections are taken, and nothing comes back, on the old ones neither."""
        self.passing.clear()

    def accept(self, listening: socket.socket) -> None:
        while True:
            try:
                near, _ = listening.accept()
            except OSError:
                return
            self.taken += 1
            far = self.connect()
            self.open_sockets += [near, far]
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self.forward, args=[one, other], daemon=True).start()

    def connect(self) -> socket.socket:
        if self.host.startswith("/"):
            far = socket.socket(socket.AF_UNIX)
            far.connect(f"{self.host}/.s.PGSQL.{self.number}")
            return far
        return socket.create_connection((self.host, self.number))

    def forward(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                self.passing.wait()
                other.sendall(data)
        for sock in (one, other):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def url(self) -> str:
        p: dict[str, Any] = self.params
        password = f":{p['password']}" if p.get("password") else ""
        return f"postgresql://{p.get('user')}{password}@127.0.0.1:{self.port}/{p['dbname']}"
