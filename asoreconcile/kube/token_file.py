"""A bearer token in a file that another process rotates, such as a service account
token.

The kubelet rewrites the file long before the token expires, so reading it once a minute
is enough, and at once after the server refused the token.
"""

import threading
from pathlib import Path

from asoreconcile.base.clock import Clock
from asoreconcile.base.log import Logger

_log = Logger(__name__)

# As in client-go.
_FRESH_SECONDS = 60.0


class TokenFile:
    """The file's token as an `Authorization` header. Safe from any thread."""

    def __init__(self, path: Path, *, clock: Clock) -> None:
        """Raises OSError or ValueError if the file has no token now."""
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._header = self._read()
        self._read_at = clock.monotonic()

    def authorization(self) -> str:
        """Return the header's value; the last valid one while the file cannot be
        read.
        """
        with self._lock:
            if self._clock.monotonic() - self._read_at >= _FRESH_SECONDS:
                self._reread()
            return self._header

    def renew(self) -> bool:
        """Read the file now; returns whether the token changed."""
        with self._lock:
            old = self._header
            self._reread()
            return self._header != old

    def _reread(self) -> None:
        """Read the file and keep its token. The caller holds the lock."""
        # Also after a failure: look for a missing file once a minute, not at each
        # request.
        self._read_at = self._clock.monotonic()
        try:
            self._header = self._read()
        except (OSError, ValueError) as error:
            _log.warning(
                "Keeping the old token", file=str(self._path), error=str(error)
            )

    def _read(self) -> str:
        token = self._path.read_text("ascii").strip()
        if not token:
            raise ValueError(
                f"{self._path} is empty: a service account's token is expected"
            )
        return f"Bearer {token}"
