"""The access to a page: a key that is good once, in a file of the user, and tokens.

The file redirects a browser to the page, with the key behind the address's `#`. The
page sends the key once and gets a token, which it sends as a header of each request.
So no key is in the arguments of a browser, which every user of the machine can read,
and nothing is a cookie, which a browser sends to every port of the machine.
"""

import hmac
import os
import secrets
import shutil
import tempfile
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path

from asoreconcile.base.log import Logger

_log = Logger(__name__)

_MOST_TOKENS = 64
_FILE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<title>asoreconcile</title>
<script>
const address = "{address}";
location.replace(address + location.hash.replace("#", "&"));
</script>
<noscript>The page needs scripts: <a href="{address}">open it</a>.</noscript>
"""


class PageKeys:
    """The file with the key, and the tokens of the open pages. Safe from any thread.

    The file has a new key as soon as one was used, so that it can be opened again.
    """

    def __init__(self, origin: str) -> None:
        """Make the file. origin: `http://127.0.0.1:PORT`. Raises OSError."""
        self._origin = origin
        self._lock = threading.Lock()
        # The oldest page gives way: the file can be opened a thousand times.
        self._tokens: deque[str] = deque(maxlen=_MOST_TOKENS)
        # Only its user may enter the folder, and replace the file.
        self._folder = Path(tempfile.mkdtemp(prefix="asoreconcile-page-", dir=_base()))
        self.file = self._folder / "page.html"
        self._key = ""
        try:
            self._renew()
        except OSError:
            self.close()
            raise

    def open(self, key: str) -> str:
        """Return a token for a key that was not used before; "" for any other."""
        with self._lock:
            if not _is_same(key, self._key):
                return ""
            token = secrets.token_urlsafe(24)
            self._tokens.append(token)
            try:
                self._renew()
            except OSError as error:
                # The key was used: no other page can be opened.
                self._key = secrets.token_urlsafe(24)
                _log.warning("The page cannot be opened again", error=str(error))
            return token

    def knows(self, token: str) -> bool:
        """Return whether a token is that of an open page."""
        with self._lock:
            return any(_is_same(token, one) for one in self._tokens)

    def close(self) -> None:
        """Remove the file."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _renew(self) -> None:
        """Write a file with a new key in the place of the present one."""
        self._key = secrets.token_urlsafe(24)
        written = self._folder / "new.html"
        written.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        address = f"{self._origin}/#once={self._key}"
        with os.fdopen(os.open(written, flags, 0o600), "w") as file:
            file.write(_FILE.format(address=address))
        written.replace(self.file)


def _base() -> str | None:
    """Return the user's own folder for files of this session, if there is one."""
    named = os.environ.get("XDG_RUNTIME_DIR", "")
    with suppress(OSError):
        if named and Path(named).stat().st_uid == os.getuid():
            return named
    return None


def _is_same(given: str, secret: str) -> bool:
    """Return whether two texts are equal; the time taken does not show how much of them
    is.
    """
    return hmac.compare_digest(given.encode(), secret.encode())
