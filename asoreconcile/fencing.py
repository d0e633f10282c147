"""Requests that can be held back up to the last moment, for who may lose its lease.

    the connection stands  ->  fence()  ->  a piece to the kernel  ->  fence()  -> ...

A process may be stopped anywhere and go on minutes later, as another one leads. So the
fence is asked before each single piece, after all that blocks: connecting, and waiting
until the peer takes more. A server acts on no request whose last piece is missing.
Two things are left, and bounded. Between the look and the system call no other code of
the thread runs: `tests/bench/fencing.py` measures how long that takes. And what the
kernel has, but the peer's does not acknowledge, is thrown away after
`UNDELIVERED_SECONDS`: less than a lease outlasts its holder's last write. Where it is
asked: `wire.transfer`, `wire.handle`. Rule: LE-5.
"""

from collections.abc import Callable

Fence = Callable[[], None]
"""Raises if the request must not be sent. Called often: it must not block."""

READS = ("GET", "HEAD")
# A lease outlasts its holder's last write by so much (15 s less 10 s): what no peer has
# acknowledged by then must never arrive.
UNDELIVERED_SECONDS = 5.0
