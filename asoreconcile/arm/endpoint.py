"""The one ARM host that gets our token: building URLs on it, judging those it sends.

Pure. Rules: H4, I3, L4, L19, L21, Q1, D22.
"""

from collections.abc import Iterable, Mapping
from urllib.parse import SplitResult, parse_qsl, quote, urljoin, urlsplit

import attrs

from asoreconcile.arm.ids import key, url_path
from asoreconcile.errors import AsoError


class EndpointError(AsoError):
    """An ARM endpoint that cannot be used."""


def _https(instance: object, attribute: object, url: str) -> None:
    del instance, attribute
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname or parts.query or parts.fragment:
        raise EndpointError(
            f"the ARM endpoint must be an https URL without a query, not {url!r}"
        )


def _stripped(url: str) -> str:
    return url.rstrip("/")


def _authorities(hosts: Iterable[str]) -> frozenset[str]:
    return frozenset(
        host.lower() if ":" in host else f"{host.lower()}:443" for host in hosts
    )


@attrs.frozen
class Endpoint:
    """Where ARM is: `https://management.azure.com`.

    also: further hosts (`host` or `host:port`) that monitors may name; none by default,
    because whoever is asked for a status gets the token (L21).
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
        """The URL of an id (not encoded) or path, with api-version and query."""
        members = {**({"api-version": api_version} if api_version else {})}
        members.update(query or {})
        text = "&".join(
            f"{quote(name, safe='$')}={quote(value, safe='-._~')}"
            for name, value in members.items()
        )
        return f"{self.url}{url_path(path)}{'?' + text if text else ''}"

    def serves(self, url: str) -> bool:
        """Whether a URL is on this host (or an allowed one), so gets the token. H4."""
        try:
            parts = urlsplit(url)
            authority = _authority(parts)
            home = _authority(urlsplit(self.url))
        except ValueError:
            return False
        if parts.scheme.lower() != "https" or parts.username is not None:
            return False
        if not url.isascii() or any(char in url for char in "\r\n\t\\ "):
            return False
        return authority == home or authority in self.also

    def resolved(self, url: str) -> str:
        """A URL from a header made absolute: relative ones are on this host (D22).

        Absolute ones are returned as they are, byte for byte (L19), and so are those
        that are no URLs: `serves` refuses them.
        """
        try:
            return url if urlsplit(url).scheme else urljoin(self.url + "/", url)
        except ValueError:
            return url


def is_same_resource(url: str, request_url: str) -> bool:
    """Whether a monitor is just the resource itself, not a view of an operation.

    The same path without case, and no query but an api-version: with another member
    (`asyncId`) the query is part of the monitor's identity (L4, L9, L14).
    """
    try:
        ours, theirs = urlsplit(request_url), urlsplit(url)
    except ValueError:
        return False
    if key(ours.path) != key(theirs.path):
        return False
    members = {name.lower() for name, _ in parse_qsl(theirs.query)}
    return members <= {"api-version"}


def _authority(parts: SplitResult) -> str:
    default = 443 if parts.scheme.lower() == "https" else 80
    return f"{(parts.hostname or '').lower()}:{parts.port or default}"
