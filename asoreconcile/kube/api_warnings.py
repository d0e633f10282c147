"""Logs the API server's `Warning` headers, each text once.

They report dropped unknown fields, deprecated versions, and warnings of admission
webhooks. Without the log they would not be seen.
"""

import re
from collections.abc import Mapping

from asoreconcile.base.log import Logger
from asoreconcile.base.lru import LruCache

_log = Logger(__name__)
HEADER = "warning"
# As in client-go: a controller repeats the same writes. This many texts are remembered.
_MOST = 1000
# RFC 7234: a code, an agent, a quoted text, and an optional date.
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")


class ApiWarnings:
    """The warnings of one client. Safe from any thread."""

    def __init__(self) -> None:
        self._known = LruCache[str, bool](_MOST)

    def log(self, method: str, path: str, headers: Mapping[str, str]) -> None:
        """Log the warnings of a response that were not logged before. headers: names in
        lower case, repeated headers joined by commas.
        """
        text = headers.get(HEADER)
        if text is None:
            return
        for said in warnings_in(text):
            if not self._known.get(said):
                self._known.put(said, True)
                _log.warning("API server warns", warning=said, method=method, path=path)


def warnings_in(header: str) -> list[str]:
    """Return the texts of a `Warning` header, unquoted; only those with Kubernetes'
    code. Pure.
    """
    return [_ESCAPED.sub(r"\1", said) for said in _WARNING.findall(header)]
