"""The HTTP server of the page, on 127.0.0.1 alone.

The address holds a key, new at each start, so that other users of the machine cannot
read the page: the first request brings the key, and the answer sets it as a cookie for
the rest. Requests for another host name, which an attacker's DNS may direct to this
address, and requests by pages of other sites are refused. A request that changes
something needs the token that is in the page as well.
"""

import hmac
import secrets
import threading
from collections.abc import Callable, Mapping
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any, Self

from asoreconcile.azure.cmd.ui.cluster_page import ClusterPage, PageError
from asoreconcile.base import jsontext
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.http import HttpRequest, HttpResponse, HttpServer

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
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_JSON = "application/json"
_HOSTS = ("127.0.0.1", "localhost", "[::1]")
_MOST_BODY_BYTES = 1 << 20
_MOST_STREAMS = 32


class PageServer:
    """Serves one page. Use as a context manager."""

    def __init__(self, page: ClusterPage, *, port: int = 0) -> None:
        """page: source of the documents; it is started and closed with the server.
        port: port of the listening socket; if 0, any free port.

        Raises OSError if the port is taken.
        """
        self._page = page
        self._token = secrets.token_urlsafe(24)
        self._key = secrets.token_urlsafe(24)
        # Only what is in the folder now can be asked for, by its exact name.
        self._files = {path.name: path for path in _FOLDER.iterdir()}
        self._streams = threading.BoundedSemaphore(_MOST_STREAMS)
        self._server = HttpServer(self._handle, port=port)
        self._reads: Mapping[str, Callable[[HttpRequest], Any]] = {
            "about": lambda _: page.about(),
            "objects": lambda _: page.index.all(),
            "object": lambda request: page.object(request.query.get("key", "")),
            "charts": lambda _: page.charts(),
            "requests": lambda _: page.requests(),
        }

    @property
    def url(self) -> str:
        """Return the address of the page, with its key."""
        return f"{self._server.url}/?key={self._key}"

    def __enter__(self) -> Self:
        self._page.start()
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        # The streams first: their threads end, and the server waits for them.
        self._page.close()
        self._server.close()

    def _handle(self, request: HttpRequest) -> HttpResponse:
        try:
            self._check(request)
            if request.path == "/" and "key" in request.query:
                return self._opened()
            return self._answer(request)
        except PageError as error:
            return _document(error.status, {"error": str(error)})
        except AsoreconcileError as error:
            return _document(502, {"error": f"The cluster did not answer: {error}"})
        except Exception:  # noqa: BLE001 - one request's failure stays its own
            _log.exception("Request failed", target=request.target)
            return _document(500, {"error": "The page's server failed: see its log."})

    def _opened(self) -> HttpResponse:
        """Return the response that sets the key as a cookie and redirects to the
        address without it.
        """
        cookie = f"{self._cookie}={self._key}; Path=/; HttpOnly; SameSite=Strict"
        return HttpResponse(
            303, b"", {**_HEADERS, "Location": "/", "Set-Cookie": cookie}
        )

    @property
    def _cookie(self) -> str:
        """Return the name of the cookie: browsers share cookies among ports."""
        return f"page-{self._server.port}"

    def _holds_key(self, request: HttpRequest) -> bool:
        if request.path == "/" and "key" in request.query:
            return _is_same(request.query["key"], self._key)
        try:
            cookies = SimpleCookie(request.headers.get("cookie", ""))
        except CookieError:
            return False
        cookie = cookies.get(self._cookie)
        return cookie is not None and _is_same(cookie.value, self._key)

    def _check(self, request: HttpRequest) -> None:
        """Raise PageError unless a request is from the page of this run."""
        hosts = [f"{host}:{self._server.port}" for host in _HOSTS]
        if request.headers.get("host") not in hosts:
            raise PageError(403, "Only this machine's own names reach this page.")
        origin = request.headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in hosts}:
            raise PageError(403, "Pages of other sites are not answered.")
        if request.method not in {"GET", "POST"}:
            raise PageError(405, "Only GET and POST are answered.")
        if not self._holds_key(request):
            raise PageError(403, "Open the page by the address that was printed.")
        given = request.headers.get("x-page-token", "")
        if request.method == "POST" and not _is_same(given, self._token):
            raise PageError(403, "The page's token is missing or wrong: load it again.")
        if len(request.body) > _MOST_BODY_BYTES:
            raise PageError(413, "The text is longer than 1 MiB.")

    def _answer(self, request: HttpRequest) -> HttpResponse:
        area, _, name = request.path.removeprefix("/").partition("/")
        if request.method == "POST":
            if area != "api":
                raise PageError(404, "There is nothing to post to here.")
            return _document(200, self._page.change(name, _body_of(request)))
        if area == "api" and name == "stream":
            return self._stream(request)
        if area == "api" and name in self._reads:
            return _document(200, self._reads[name](request))
        if request.path == "/":
            return self._file("index.html")
        if area == "page" and name in self._files:
            return self._file(name)
        raise PageError(404, "There is no such page.")

    def _file(self, name: str) -> HttpResponse:
        body = self._files[name].read_bytes()
        if name == "index.html":
            body = body.replace(b"PAGE-TOKEN", self._token.encode())
        return _response(200, body, _TYPES.get(Path(name).suffix, "text/plain"))

    def _stream(self, request: HttpRequest) -> HttpResponse:
        if not self._streams.acquire(blocking=False):
            raise PageError(503, "Too many pages are open: close one.")
        events = self._page.stream.follow(request.headers.get("last-event-id", ""))
        headers = {**_HEADERS, "Content-Type": "text/event-stream"}
        return HttpResponse(200, events, headers, afterwards=self._streams.release)


def _is_same(given: str, secret: str) -> bool:
    """Return whether two texts are equal; the time taken does not show how much of them
    is.
    """
    return hmac.compare_digest(given.encode(), secret.encode())


def _body_of(request: HttpRequest) -> JsonObject:
    try:
        found = jsontext.loads(request.body or b"{}")
    except ValueError:
        raise PageError(400, "The request's body is no JSON.") from None
    if not isinstance(found, dict):
        raise PageError(400, "The request's body is no JSON object.")
    return found


def _document(status: int, document: Any) -> HttpResponse:
    return _response(status, jsontext.dumps(document), _JSON)


def _response(status: int, body: bytes, content_type: str) -> HttpResponse:
    return HttpResponse(status, body, {**_HEADERS, "Content-Type": content_type})
