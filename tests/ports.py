"""Ports that stay free while nobody listens on them."""

import os
import random
import socket

# Below the ports that the kernel gives out by itself (ip(7), ip_local_port_range: from 32768), so that no other
# socket of these tests takes one between two uses; each of pytest-xdist's processes has a range of its own.
FIRST, EACH = 20_000, 1_500


def free_port() -> int:
    """A port of the loopback on which nobody listens now."""
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 8
    candidates = range(FIRST + number * EACH, FIRST + (number + 1) * EACH)
    for port in random.SystemRandom().sample(candidates, 50):  # not by the tests' seed
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError(f"no port is free in {candidates}")
