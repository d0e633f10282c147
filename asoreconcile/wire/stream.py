"""A response that is read as it arrives, over its own connection."""

import threading
from collections.abc import Callable, Iterator, Mapping

from asoreconcile.wire.errors import WireError
from asoreconcile.wire.handle import CurlHandle
from asoreconcile.wire.transfer import Transfer


class WireStream:
    """One thread reads; any thread may close. Its head has come already.

    It reads from the kernel only on demand, so a slow reader does not fill the memory.
    """

    def __init__(
        self,
        transfer: Transfer,
        handle: CurlHandle | None,
        broken: WireError | None,
        *,
        give_back: Callable[[CurlHandle], None],
        drop: Callable[[CurlHandle], None],
    ) -> None:
        """handle: the handle that receives the rest; None if the body is complete.
        broken: the error that ended it early, if any. give_back, drop: functions that
        take the handle at the end: to use it again, and to close it.
        """
        self.status = transfer.status
        self._transfer = transfer
        self._broken = broken
        self._give_back = give_back
        self._drop = drop
        self._lock = threading.Lock()
        self._handle = handle
        self._is_reading = False
        self.is_closed = False
        """Somebody has closed it: what was read may be a part of the answer."""

    def headers(self) -> Mapping[str, str]:
        """Return the answer's; names in lower case."""
        return self._transfer.headers()

    def pieces(self) -> Iterator[list[bytes]]:
        """Yield the body's bytes as they arrive. Ends with the response, or when
        closed. Blocks, within the call's limit and `Patience`.

        Raises WireError.
        """
        with self._lock:
            if self.is_closed:
                return
            self._is_reading = True
        try:
            # First what arrived before the stream broke: it is delivered all the same.
            yield self._transfer.taken()
            while self._handle is not None and not self.is_closed:
                self._go_on(self._handle)
                yield self._transfer.taken()
            # `close` cut the connection, not the server.
            if self._broken is not None and not self.is_closed:
                raise self._broken
        finally:
            self._is_reading = False
            self._release(self._drop)

    def close(self) -> None:
        """End it; a reader blocked in it wakes up. Idempotent."""
        with self._lock:
            self.is_closed = True
            if self._is_reading:
                # Without a handle it was read to its end, and the connection is the
                # pool's again: another request may be using it.
                if self._handle is not None:
                    self._handle.cut()
                return
        self._release(self._drop)

    def _go_on(self, handle: CurlHandle) -> None:
        try:
            if not handle.turn():
                self._release(self._give_back)
        except WireError as error:
            self._broken = error
            self._release(self._drop)

    def _release(self, how: Callable[[CurlHandle], None]) -> None:
        with self._lock:
            handle, self._handle = self._handle, None
        if handle is not None:
            how(handle)
