"""The data of one request and its response, for libcurl's callbacks.

Not thread-safe. A callback's exception is stored here, and raised by the code that
drives the transfer: it must not pass through libcurl.
"""

from io import BytesIO

import pycurl

from asoreconcile.base.fencing import Fence
from asoreconcile.wire.errors import WireError
from asoreconcile.wire.request import WireRequest

_REFUSED = -1  # no callback may have taken so much
HEAD_ENDS = (b"\r\n", b"\n")


class Transfer:
    """One request in progress.

    fence: called before the first bytes of a write are sent, and before each further
    part (`fencing`); None if not fenced. max_bytes: longest decompressed body.
    """

    def __init__(
        self, request: WireRequest, *, fence: Fence | None, max_bytes: int | None
    ) -> None:
        self.request = request
        self.is_fenced = fence is not None and not request.is_read
        self.is_sent = False
        """Whether bytes of the request may have been sent."""
        self.failure: BaseException | None = None
        self.status = 0
        self.has_head = False
        self.body_pieces: list[bytes] = []
        self.received = 0
        self._fence = fence
        self._max_bytes = max_bytes
        self._body = BytesIO(request.body or b"")
        self._lines: list[bytes] = []
        self._head: list[bytes] = []
        self._begins = self._looked_at = 0  # of the lines: the head's first, the next

    def apply(self, curl: pycurl.Curl) -> None:
        """Set the callbacks of a libcurl handle."""
        curl.setopt(pycurl.PREREQFUNCTION, self._begin)
        reads = self._read if self.is_fenced else self._body.read
        curl.setopt(pycurl.READFUNCTION, reads)
        # No Python function is called for each line, nor for each piece if the size is
        # not limited: `append` returns None, which accepts everything.
        curl.setopt(pycurl.HEADERFUNCTION, self._lines.append)
        counts = self._max_bytes is not None
        takes = self._write if counts else self.body_pieces.append
        curl.setopt(pycurl.WRITEFUNCTION, takes)

    def check_fence(self) -> None:
        """Check the fence before the request is sent. Raises the exceptions of the
        fence.
        """
        if self.is_fenced and self._fence is not None:
            self._fence()

    @property
    def has_length(self) -> bool:
        """Return whether the response states its length; otherwise it ends with the
        connection.
        """
        names = self.headers().keys()
        return not names.isdisjoint({"content-length", "transfer-encoding"})

    def read_head(self) -> None:
        """Parse the head from the received lines, once it is complete."""
        lines = self._lines
        while not self.has_head and self._looked_at < len(lines):
            self._looked_at += 1
            if lines[self._looked_at - 1] not in HEAD_ENDS:
                continue
            first, *rest = lines[self._begins : self._looked_at - 1] or [b""]
            word = first.split(None, 2)[1:2]
            self.status = int(word[0]) if word and word[0].isdigit() else 0
            # Before that, the real one follows.
            self._begins = self._looked_at
            self._head, self.has_head = rest, self.status >= 200

    def headers(self) -> dict[str, str]:
        """Return the headers of the response, once `has_head` is true."""
        headers: dict[str, str] = {}
        for line in self._head:
            # Any byte is a character of Latin-1: so a mistake of the server does not
            # make the request fail.
            name, _, text = line.decode("latin-1").partition(":")
            name, text = name.strip().lower(), text.strip()
            headers[name] = f"{headers[name]}, {text}" if name in headers else text
        return headers

    def _begin(self, *_: object) -> object:
        """Begin a request on an open connection, before any of it is sent.

        A connection that had been idle may have been dead: libcurl would then send the
        request again over another one. A write may have been executed already, so the
        caller, which counts requests, decides about a retry.
        """
        try:
            if self.is_sent:
                raise WireError(
                    "Connection aborted: it was closed before the answer",
                    is_sent=True,
                    is_lost=True,
                )
            if self.is_fenced:
                self.check_fence()
        except BaseException as error:  # noqa: BLE001 - raised by the driver
            self.failure = error
            return pycurl.PREREQFUNC_ABORT
        self.is_sent = True
        self._forget_lines()
        return pycurl.PREREQFUNC_OK

    def _forget_lines(self) -> None:
        """Drop the lines of a proxy, which come before the request is sent."""
        self._lines.clear()  # libcurl goes on with this list
        self._begins = self._looked_at = 0

    def _read(self, size: int) -> object:
        try:
            self.check_fence()
        except BaseException as error:  # noqa: BLE001 - as above
            self.failure = error
            return pycurl.READFUNC_ABORT
        return self._body.read(size)

    def _write(self, piece: bytes) -> int:
        self.received += len(piece)
        if self._max_bytes is not None and self.received > self._max_bytes:
            self.failure = WireError(
                f"the answer is over {self._max_bytes} bytes long",
                is_sent=True,
                is_too_long=True,
            )
            return _REFUSED
        self.body_pieces.append(piece)
        return len(piece)
