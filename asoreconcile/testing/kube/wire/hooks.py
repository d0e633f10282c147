"""Calls to webhooks: one POST over TLS, trusted by its caBundle, with a time-out.

Connections are kept for later calls, as in the API server, separately for each webhook
and caBundle. Errors are raised as HookError, with the messages of the API server's HTTP
client.
"""

import base64
import binascii
import socket
import ssl
import urllib.parse
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import attrs
import urllib3

from asoreconcile.base.objects import JsonObject
from asoreconcile.base.tls import client_context
from asoreconcile.testing.kube.wire import deepjson

_HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}
_DEFAULT_PORT = 443
_KEPT_CONNECTIONS = 25
_STATUSES = {
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    429: (
        "the server has received too many requests and has asked us to try again later"
    ),
    503: "the server is currently unable to handle the request",
    504: (
        "the server was unable to return a response in the time allotted, but may "
        "still be processing the request"
    ),
}


class HookError(Exception):
    """A webhook that could not be called, or whose answer is not valid."""


@attrs.frozen
class _Peer:
    """The target of a call.

    host: host name that its certificate must have.
    """

    address: str
    port: int
    host: str
    bundle: str = attrs.field(repr=False)


@attrs.frozen
class Services:
    """The addresses of webhooks' Services: {"namespace/name": "host:port"}.

    There is no network of Pods here, so a test states where its webhook listens.
    """

    addresses: dict[str, str] = attrs.field(factory=dict)
    _pools: "dict[_Peer, urllib3.HTTPSConnectionPool]" = attrs.field(
        factory=dict, init=False, repr=False, eq=False
    )

    def close(self) -> None:
        """Close the kept connections. Later calls open new ones."""
        while self._pools:
            self._pools.popitem()[1].close()

    def call(
        self, config: Mapping[str, Any], review: JsonObject, timeout_seconds: float
    ) -> JsonObject:
        """Return a webhook's answer to a review. Blocking.

        config: its clientConfig.

        Raises HookError.
        """
        url, host = self._address(config, timeout_seconds)
        shown = f"{url}?timeout={timeout_seconds:g}s"
        parts = urllib.parse.urlsplit(shown)
        peer = _Peer(
            address=parts.hostname or "",
            port=parts.port or _DEFAULT_PORT,
            host=host,
            bundle=str(config.get("caBundle") or ""),
        )
        target = f"{parts.path or '/'}?{parts.query}"
        try:
            answer = self._posted(peer, target, deepjson.dumps(review), timeout_seconds)
        except (urllib3.exceptions.HTTPError, OSError, binascii.Error) as error:
            why = _reason(error, url)
            raise HookError(f'failed to call webhook: Post "{shown}": {why}') from error
        if not 200 <= answer.status < 300:
            message = _message_of(answer.status, answer.data)
            raise HookError(f"failed to call webhook: {message}")
        try:
            found = deepjson.loads(answer.data)
        except ValueError as error:
            raise HookError(
                "failed to call webhook: couldn't get version/kind; json parse error: "
                f"{error}"
            ) from error
        return found if isinstance(found, dict) else {}

    def _posted(
        self, peer: "_Peer", target: str, body: bytes, timeout_seconds: float
    ) -> urllib3.BaseHTTPResponse:
        """Send a request, and repeat it if the webhook had closed the kept
        connection.
        """
        pool = self._pools.get(peer)
        if pool is None:
            pool = self._pools.setdefault(peer, _pool(peer))

        def post() -> urllib3.BaseHTTPResponse:
            timeout = urllib3.Timeout(total=timeout_seconds)
            return pool.request(
                "POST", target, body=body, headers=_HEADERS, timeout=timeout
            )

        opened = pool.num_connections
        try:
            return post()
        except urllib3.exceptions.ProtocolError:
            if pool.num_connections > opened:
                raise
            return post()

    def _address(
        self, config: Mapping[str, Any], timeout_seconds: float
    ) -> tuple[str, str]:
        """Return the URL to call, and the host name that its certificate must have."""
        if config.get("url"):
            url = str(config["url"])
            return url, urllib.parse.urlsplit(url).hostname or ""
        service = config.get("service") or {}
        name, namespace = service.get("name"), service.get("namespace")
        host = f"{name}.{namespace}.svc"
        path = "/" + str(service.get("path") or "").lstrip("/")
        known = self.addresses.get(f"{namespace}/{name}")
        if known is None:
            port = service.get("port") or _DEFAULT_PORT
            raise HookError(
                f'failed to call webhook: Post "https://{host}:{port}{path}?timeout='
                f'{timeout_seconds:g}s": service "{name}" not found'
            )
        return f"https://{known}{path}", host


def _pool(peer: _Peer) -> urllib3.HTTPSConnectionPool:
    return urllib3.HTTPSConnectionPool(
        peer.address,
        peer.port,
        maxsize=_KEPT_CONNECTIONS,
        ssl_context=_context(peer.bundle),
        assert_hostname=peer.host,
        server_hostname=None if _is_address(peer.host) else peer.host,
        retries=False,
    )


@lru_cache(maxsize=64)
def _context(bundle: str) -> ssl.SSLContext:
    """Return a context that trusts only a caBundle, or the system's store
    without one.
    """
    if not bundle:
        return client_context()
    pem = base64.b64decode(bundle).decode("ascii", errors="replace")
    return client_context(cadata=pem)


def _message_of(status: int, body: bytes) -> str:
    """Return the message of Kubernetes' client for a status."""
    if status == 500:
        text = body.decode(errors="replace").strip()
        return (
            f'an error on the server ("{text}") has prevented the request from '
            "succeeding"
        )
    return _STATUSES.get(
        status,
        f"the server responded with the status code {status} but did not return more "
        "information",
    )


def _is_address(host: str) -> bool:
    try:
        socket.inet_pton(socket.AF_INET6 if ":" in host else socket.AF_INET, host)
    except OSError:
        return False
    return True


def _reason(error: Exception, url: str) -> str:
    """Return the message of Go's HTTP client for an error."""
    where = urllib.parse.urlsplit(url).netloc
    if isinstance(error, urllib3.exceptions.TimeoutError) and not isinstance(
        error, urllib3.exceptions.NewConnectionError
    ):
        return "context deadline exceeded"
    if isinstance(error, urllib3.exceptions.NewConnectionError):
        return f"dial tcp {where}: connect: connection refused"
    if isinstance(error, urllib3.exceptions.SSLError):
        return f"tls: failed to verify certificate: x509: {error.args[0]}"
    if isinstance(error, urllib3.exceptions.ProtocolError):
        return "EOF"
    return str(error)
