"""The one ARM host that gets the token: build URLs on it and check received ones. Pure.

Rules: H4, I3, L4, L19, L21, Q1, D22.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from urllib.parse import SplitResult, parse_qsl, quote, urljoin, urlsplit

import attrs

from asoreconcile.azure.arm.ids import key, url_path
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.lru import lru_cached


class EndpointError(AsoreconcileError):
    """The ARM endpoint cannot be used."""


def problem_of(url: str) -> str:
    """Return why a token cannot be sent to an address; "" if it can.

    The text continues a sentence that begins with the address's name. It quotes
    nothing, because the address may contain a password. A token must not travel
    unencrypted.
    """
    if problem := problem_of_name(url):
        return problem
    if not url.startswith("https://"):
        return "must begin with https://"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "must be a URL with a host, and a port from 1 to 65535 if any"
    if parts.username is not None:
        return "must hold no user name or password"
    if not parts.hostname or port == 0:
        return "must be a URL with a host, and a port from 1 to 65535 if any"
    if parts.query or parts.fragment:
        return "must have neither a query nor a fragment"
    return ""


def problem_of_name(text: str) -> str:
    """Return why a text is neither an address nor part of one; "" if it may be."""
    if not text.isascii() or not text.isprintable() or " " in text:
        return "must be printable ASCII without blanks"
    return ""


def _https(instance: object, attribute: object, url: str) -> None:
    del instance, attribute
    if problem := problem_of(url):
        raise EndpointError(f"the ARM endpoint {problem}")


def _stripped(url: str) -> str:
    return url.rstrip("/")


def _authorities(hosts: Iterable[str]) -> frozenset[str]:
    return frozenset(
        host.lower() if ":" in host else f"{host.lower()}:443" for host in hosts
    )


@attrs.frozen
class Endpoint:
    """The address of ARM: `https://management.azure.com`.

    also: further hosts (`host` or `host:port`) that monitors may name; none by default,
    because each such host gets the token (L21).
    """

    url: str = attrs.field(converter=_stripped, validator=_https)
    also: frozenset[str] = attrs.field(default=frozenset(), converter=_authorities)

    def address(
        self,
        path: str,
        api_version: str = "",
        *,
        query: Mapping[str, str] | None = None,
    ) -> str:
        """Return the URL of an id (not encoded) or path, with api-version and query."""
        members = {"api-version": api_version} if api_version else {}
        members.update(query or {})
        text = "&".join(
            [
                f"{_quoted_name(name)}={_quoted(value)}"
                for name, value in members.items()
            ]
        )
        return f"{self.url}{url_path(path)}{'?' + text if text else ''}"

    def serves(self, url: str) -> bool:
        """Return whether a URL is on this host or an allowed one, and so gets the
        token. H4.
        """
        # The usual case: the host ends at that slash, whatever follows it.
        if url.startswith(f"{self.url}/") and _is_plain(url):
            return True
        try:
            parts = urlsplit(url)
            authority = _authority(parts)
            home = _home(self.url)
        except ValueError:
            return False
        # The part before an @ looks like the host, but is not.
        if parts.scheme.lower() != "https" or parts.username is not None:
            return False
        # Libraries parse such a URL differently: one's path is another's host.
        if not _is_plain(url):
            return False
        return authority == home or authority in self.also

    def resolved(self, url: str) -> str:
        """Return the absolute form of a URL from a header: relative ones are on this
        host (D22).

        Absolute URLs are returned unchanged (L19), and so are texts that are not URLs:
        `serves` refuses them.
        """
        try:
            return url if urlsplit(url).scheme else urljoin(self.url + "/", url)
        except ValueError:
            return url


def is_same_resource(url: str, request_url: str) -> bool:
    """Return whether a monitor is the resource itself, not the status of an operation.

    This is the case if the paths are the same without case and the query has only an
    api-version: any other member (`asyncId`) identifies a monitor (L4, L9, L14).
    """
    try:
        ours, theirs = urlsplit(request_url), urlsplit(url)
    except ValueError:
        return False
    if key(ours.path) != key(theirs.path):
        return False
    members = {name.lower() for name, _ in parse_qsl(theirs.query)}
    return members <= {"api-version"}


@lru_cached
def _quoted_name(text: str) -> str:
    return quote(text, safe="$")


@lru_cached
def _quoted(text: str) -> str:
    return quote(text, safe="-._~")


def _is_plain(url: str) -> bool:
    """Return whether all libraries read the same host and path in the URL."""
    return url.isascii() and url.isprintable() and " " not in url and "\\" not in url


@lru_cache(maxsize=64)
def _home(url: str) -> str:
    """Return the authority of an endpoint; cached, because each request needs it."""
    return _authority(urlsplit(url))


def _authority(parts: SplitResult) -> str:
    default = 443 if parts.scheme.lower() == "https" else 80
    return f"{(parts.hostname or '').lower()}:{parts.port or default}"
