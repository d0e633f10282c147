"""Calling webhooks: one POST over TLS, trusted by its caBundle, within its time.

What goes wrong is HookError, worded as the API server's HTTP client words it.
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

from asoreconcile.objects import JsonObject
from asoreconcile.testing.kube.wire import deepjson
from asoreconcile.tls import client_context

_HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}
_DEFAULT_PORT = 443
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
    """A webhook that could not be called, or whose answer is none."""


@attrs.frozen
class Services:
    """Where Services of webhooks are: {"namespace/name": "host:port"}.

    There is no network of Pods here, so a test says where its webhook listens.
    """

    addresses: Mapping[str, str] = attrs.field(factory=dict)

    def call(
        self, config: Mapping[str, Any], review: JsonObject, timeout_seconds: float
    ) -> JsonObject:
        """The answer of a webhook to a review. config: its clientConfig. Blocking.

        Raises HookError.
        """
        url, host = self._address(config, timeout_seconds)
        shown = f"{url}?timeout={timeout_seconds:g}s"
        bundle = str(config.get("caBundle") or "")
        try:
            with _pool(url, host, bundle, timeout_seconds) as pool:
                target = urllib.parse.urlsplit(shown)
                answer = pool.request(
                    "POST",
                    f"{target.path or '/'}?{target.query}",
                    body=deepjson.dumps(review),
                    headers=_HEADERS,
                )
        except (urllib3.exceptions.HTTPError, OSError, binascii.Error) as error:
            why = _reason(error, url)
            raise HookError(f'failed to call webhook: Post "{shown}": {why}') from error
        if not 200 <= answer.status < 300:
            told = _told(answer.status, answer.data)
            raise HookError(f"failed to call webhook: {told}")
        try:
            found = deepjson.loads(answer.data)
        except ValueError as error:
            raise HookError(
                "failed to call webhook: couldn't get version/kind; json parse error: "
                f"{error}"
            ) from error
        return found if isinstance(found, dict) else {}

    def _address(
        self, config: Mapping[str, Any], timeout_seconds: float
    ) -> tuple[str, str]:
        """The URL to ask, and the host its certificate must be for."""
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


def _pool(
    url: str, host: str, bundle: str, timeout_seconds: float
) -> urllib3.HTTPSConnectionPool:
    parts = urllib.parse.urlsplit(url)
    return urllib3.HTTPSConnectionPool(
        parts.hostname or "",
        parts.port or _DEFAULT_PORT,
        ssl_context=_context(bundle),
        assert_hostname=host,
        server_hostname=None if _is_address(host) else host,
        timeout=urllib3.Timeout(total=timeout_seconds),
        retries=False,
    )


@lru_cache(maxsize=64)
def _context(bundle: str) -> ssl.SSLContext:
    """Trusts a caBundle alone, or what the system trusts when there is none."""
    if not bundle:
        return client_context()
    pem = base64.b64decode(bundle).decode("ascii", errors="replace")
    return client_context(cadata=pem)


def _told(status: int, body: bytes) -> str:
    """What a status means to Kubernetes' client."""
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
    """As Go's HTTP client says it."""
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
