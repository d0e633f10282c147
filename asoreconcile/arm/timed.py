"""An HTTP answer that has to be over within a time, its head included.

A socket's own limit is on silence: a byte now and then would hold a worker for ever.
"""

import socket
import time
from http.client import HTTPResponse
from io import BufferedReader, RawIOBase
from typing import Any

# Silence before the first byte, and then the longest body (`transport`).
MAX_ANSWER_SECONDS = 210.0


class TimedResponse(HTTPResponse):
    """`http.client`'s; breaks off MAX_ANSWER_SECONDS after it was awaited."""

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        deadline = time.monotonic() + MAX_ANSWER_SECONDS
        self.fp = BufferedReader(_Timed(self.fp.detach(), deadline))


class _Timed(RawIOBase):
    def __init__(self, raw: RawIOBase, deadline: float) -> None:
        super().__init__()
        self._raw = raw
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if time.monotonic() > self._deadline:
            # A TimeoutError would be shown as the socket's own limit on silence.
            raise ConnectionAbortedError(
                f"the answer took over {MAX_ANSWER_SECONDS:.0f} s"
            )
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()
