"""Write fencing: stops a request up to the last moment, if the lease is lost.

    the connection is open  ->  fence()  ->  a piece to the kernel  ->  fence()  -> ...

A process may be suspended anywhere and resume minutes later, when another process
leads. So the fence is called before each part of a request is sent, after everything
that blocks: connecting, and waiting until the peer accepts more. A server does not act
on a request whose last part is missing.
Two gaps remain, both bounded. Between the check and the system call the thread runs no
other code: `tests/bench/fencing.py` measures this time. And the kernel drops data that
the peer does not acknowledge within `UNDELIVERED_SECONDS`, which is less than the time
a lease outlasts its holder's last write. `wire.transfer` and `wire.handle` call the
fence. Rule: LE-5.
"""

from collections.abc import Callable

Fence = Callable[[], None]
"""Raises if the request must not be sent. Called often: it must not block."""

READS = ("GET", "HEAD")
# A lease outlasts its holder's last write by this much (15 s less 10 s): data that is
# not acknowledged by then must never arrive.
UNDELIVERED_SECONDS = 5.0
