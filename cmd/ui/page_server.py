"""The HTTP server of the page, on 127.0.0.1 alone.

A file that only its user can read has a key that is good once (`page_keys`): the page
brings it, gets a token, and sends the token as a header. Anyone on the machine may have
the files of the page, which say nothing of a cluster; nothing else is answered, and no
body is read, without a token. Requests for another host name, which an attacker's DNS
may direct to this address, and requests by pages of other sites are refused.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

import attrs

from asoreconcile.azure.cmd.ui.cluster_page import ClusterPage, PageError
from asoreconcile.azure.cmd.ui.page_keys import PageKeys
from asoreconcile.base import jsontext
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import JsonObject
from asoreconcile.serving.listener import Listener
from asoreconcile.serving.messages import ServerRequest, ServerResponse

_log = Logger(__name__)

_FOLDER = Path(__file__).parent / "page"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; "
    "style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_JSON = "application/json"
_HOSTS = ("127.0.0.1", "localhost", "[::1]")
_OPEN = "api/open"
_MOST_BODY_BYTES = 1 << 20
# Of requests that anyone on the machine may make.
_MOST_OPENING_BYTES = 64
_MOST_HEAD_BYTES = 1 << 14
_MOST_QUERY_FIELDS = 8
# Each may hold a thread, a head of this size and a body that is not reserved.
_MOST_CONNECTIONS = 64
_READ_SECONDS = 10.0
_MOST_WAITING = 32
_WAIT_SECONDS = 15.0
_STOP_SECONDS = 5.0


@attrs.frozen
class _Asked:
    """A request: its path without the first slash, and the last value of each name of
    its query.
    """

    path: str
    query: Mapping[str, str]

    @classmethod
    def of(cls, request: ServerRequest) -> Self:
        """Read a target. Raises PageError."""
        try:
            parts = urlsplit(request.target)
            query = parse_qsl(
                parts.query, keep_blank_values=True, max_num_fields=_MOST_QUERY_FIELDS
            )
        except ValueError:
            raise PageError(400, "The address cannot be read.") from None
        return cls(unquote(parts.path).removeprefix("/"), dict(query))


class PageServer:
    """Serves one page. Use as a context manager."""

    def __init__(self, page: ClusterPage, *, port: int = 0) -> None:
        """page: source of the documents; it is started and closed with the server.
        port: port of the listening socket; if 0, any free port.
        """
        self._page = page
        # Only what is in the folder now can be asked for, by its exact name.
        self._files = {path.name: path.read_bytes() for path in _FOLDER.iterdir()}
        self._waits = threading.BoundedSemaphore(_MOST_WAITING)
        self._keys: PageKeys | None = None
        self._listener = Listener(
            f"127.0.0.1:{port}",
            self._handle,
            methods=("GET", "POST"),
            max_body_bytes=_most_body_bytes,
            read_seconds=_READ_SECONDS,
            max_connections=_MOST_CONNECTIONS,
            head_bytes=_MOST_HEAD_BYTES,
            check_head=self._refusal,
        )
        self._reads: Mapping[str, Callable[[Mapping[str, str]], Any]] = {
            "about": lambda _: page.about(),
            "objects": lambda _: page.index.all(),
            "object": lambda query: page.object(query.get("key", "")),
            "charts": lambda _: page.charts(),
            "requests": lambda _: page.requests(),
        }

    @property
    def origin(self) -> str:
        """Return the address without a key, `http://127.0.0.1:PORT`, while it
        serves.
        """
        return f"http://127.0.0.1:{self._listener.port}"

    @property
    def file(self) -> Path:
        """Return the file to open in a browser, while it serves."""
        return self._opened().file

    def __enter__(self) -> Self:
        """Serve. Raises ListenError, and OSError if there can be no file."""
        self._listener.start()
        try:
            self._keys = PageKeys(self.origin)
            self._page.start()
        except BaseException:
            self._listener.stop(0.0)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        # The waits first: their threads end, and the server waits for them.
        self._page.close()
        self._listener.stop(_STOP_SECONDS)
        self._opened().close()

    def _opened(self) -> PageKeys:
        if self._keys is None:
            raise RuntimeError("the page is not served")
        return self._keys

    def _refusal(self, request: ServerRequest) -> ServerResponse | None:
        """Return the answer to a request that may not be made, by its head alone."""
        try:
            self._check(request, _Asked.of(request).path)
        except PageError as error:
            return _document(error.status, {"error": str(error)})
        return None

    def _handle(self, request: ServerRequest) -> ServerResponse:
        try:
            if request.too_long:
                raise PageError(413, "The text is longer than 1 MiB.")
            return self._answer(request, _Asked.of(request))
        except PageError as error:
            return _document(error.status, {"error": str(error)})
        except AsoreconcileError as error:
            return _document(502, {"error": f"The cluster did not answer: {error}"})
        except Exception:  # noqa: BLE001 - one request's failure stays its own
            _log.exception("Request failed", target=request.target)
            return _document(500, {"error": "The page's server failed: see its log."})

    def _check(self, request: ServerRequest, path: str) -> None:
        """Raise PageError unless a request is from the page of this run."""
        hosts = [f"{host}:{self._listener.port}" for host in _HOSTS]
        if request.headers.get("host") not in hosts:
            raise PageError(403, "Only this machine's own names reach this page.")
        origin = request.headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in hosts}:
            raise PageError(403, "Pages of other sites are not answered.")
        if request.method == "GET" and self._name_of_file(path):
            return
        if request.method == "POST" and path == _OPEN:
            return
        if not self._opened().knows(request.headers.get("x-page-token", "")):
            raise PageError(403, "Open the page by the file that was printed.")

    def _answer(self, request: ServerRequest, asked: _Asked) -> ServerResponse:
        area, _, name = asked.path.partition("/")
        if request.method == "POST":
            if asked.path == _OPEN:
                return self._token(request.headers.get("x-page-key", ""))
            if area != "api":
                raise PageError(404, "There is nothing to post to here.")
            return _document(200, self._page.change(name, _body_of(request)))
        if asked.path == "api/events":
            seconds = 0.0 if "at-once" in asked.query else _WAIT_SECONDS
            return self._events(asked.query.get("last", ""), seconds)
        if area == "api" and name in self._reads:
            return _document(200, self._reads[name](asked.query))
        if file := self._name_of_file(asked.path):
            kind = _TYPES.get(Path(file).suffix, "text/plain")
            return _response(200, self._files[file], kind)
        raise PageError(404, "There is no such page.")

    def _name_of_file(self, path: str) -> str:
        """Return the name of the file that a path leads to, or ""."""
        area, _, name = path.partition("/")
        if not path:
            return "index.html"
        return name if area == "page" and name in self._files else ""

    def _token(self, key: str) -> ServerResponse:
        token = self._opened().open(key)
        if not token:
            raise PageError(
                403, "This key was used, or is of an earlier run: open the file again."
            )
        return _document(200, {"token": token})

    def _events(self, last: str, seconds: float) -> ServerResponse:
        if not self._waits.acquire(blocking=False):
            raise PageError(503, "Too many pages are open: close one.")
        try:
            found = self._page.stream.since(last, seconds)
        finally:
            self._waits.release()
        return _response(200, found, _JSON)


def _most_body_bytes(target: str) -> int:
    """Return the limit of a body, which is read for holders of a token alone."""
    is_open = target.startswith("/api/") and target != f"/{_OPEN}"
    return _MOST_BODY_BYTES if is_open else _MOST_OPENING_BYTES


def _body_of(request: ServerRequest) -> JsonObject:
    try:
        found = jsontext.loads(request.body or b"{}")
    except ValueError:
        raise PageError(400, "The request's body is no JSON.") from None
    if not isinstance(found, dict):
        raise PageError(400, "The request's body is no JSON object.")
    return found


def _document(status: int, document: Any) -> ServerResponse:
    return _response(status, jsontext.dumps(document), _JSON)


def _response(
    status: int, body: bytes | Sequence[bytes], content_type: str
) -> ServerResponse:
    return ServerResponse(status, body, content_type, _HEADERS)
