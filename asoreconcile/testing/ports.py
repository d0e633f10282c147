"""Ports for servers that another process starts, and ports at which nothing listens.

A port that the system has chosen (port 0) may go to a connection of any process before
the server that it is meant for listens. The ports chosen here are outside the range
from which the system chooses, and processes that ask at the same time begin at
different places.
"""

import itertools
import os
import socket

_FIRST, _COUNT = 10_000, 20_000  # Linux chooses from 32768 on, other systems from 49152
# More than the ports of one run of tests.
_APART = 131
_numbers = itertools.count(os.getpid() * _APART)


def free_port() -> int:
    """Return a port of 127.0.0.1 at which nothing listens, another one each time."""
    while True:
        port = _FIRST + next(_numbers) % _COUNT
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
