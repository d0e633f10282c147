"""IP addresses, networks and URLs, as Go's `netip` and `net/url` read them. Pure.

The functions raise ValueError if a real server's engine reports an error.
"""

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from asoreconcile.base.objects import JsonObject

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_CONTROL = re.compile(r"[\x00-\x20\x7f]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PORT = re.compile(r".*:\d*|[^:]*|\[[^\]]*\]")


def address(text: str) -> JsonObject:
    """Return an address. Raises ValueError for a zone or an IPv4-mapped address."""
    return {"ip": str(_address(text))}


def network(text: str) -> JsonObject:
    """Return a network with the address that the text has. Raises ValueError."""
    stated, slash, length = text.partition("/")
    found = _address(stated)
    if not slash or not length.isdecimal() or length != str(int(length)):
        raise ValueError(f"network address parse error: {text!r}")
    if int(length) > found.max_prefixlen:
        raise ValueError(f"network address parse error: {text!r}")
    return {"cidr": f"{found}/{length}"}


def url(text: str) -> JsonObject:
    """Return an absolute URL, or an absolute path. Raises ValueError."""
    is_absolute = bool(_SCHEME.match(text)) or text.startswith("/")
    authority = text.partition("//")[2].partition("/")[0].partition("?")[0]
    host = authority.rpartition("@")[2]
    if (
        not is_absolute
        or _CONTROL.search(text)
        or _BROKEN_ESCAPE.search(text.partition("?")[0])
        or not _PORT.fullmatch(host)
    ):
        raise ValueError(f"URL parse error during conversion from string: {text!r}")
    return {"url": text}


def is_canonical(text: str) -> bool:
    """Return whether an address is written in its canonical form. Raises ValueError."""
    return bool(address(text)["ip"] == text)


def text(value: Any) -> str:
    """Return an address or a network as a text. Raises ValueError."""
    if not value.keys() & {"ip", "cidr"}:
        raise ValueError("no such overload")
    return str(value.get("ip") or value["cidr"])


def address_of(value: Any) -> JsonObject:
    """Return the address that a network was written with."""
    return {"ip": value["cidr"].partition("/")[0]}


def masked(value: Any) -> JsonObject:
    """Return a network whose address is its first one."""
    return {"cidr": str(_network(value))}


def prefix_length(value: Any) -> int:
    """Return the length of a network's prefix."""
    return int(value["cidr"].partition("/")[2])


def contains_ip(value: Any, other: Any) -> bool:
    """Return whether a network has an address, or its text. Raises ValueError."""
    stated = other if isinstance(other, str) else other["ip"]
    return _address(stated) in _network(value)


def contains_cidr(value: Any, other: Any) -> bool:
    """Return whether a network has all of another one, or its text. Raises
    ValueError.
    """
    inner = _network(network(other) if isinstance(other, str) else other)
    outer = _network(value)
    return (
        inner.version == outer.version
        and inner.prefixlen >= outer.prefixlen
        and inner.network_address in outer
    )


def _network(value: Any) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_network(value["cidr"], strict=False)


def _address(text: str) -> _Address:
    found = ipaddress.ip_address(text)
    is_mapped = isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped
    if is_mapped or "%" in text:
        raise ValueError(f"IP Address {text!r} is not allowed")
    return found


def _of(name: str) -> Callable[[Any], bool]:
    return lambda value: bool(getattr(_address(value["ip"]), name))


def _is_unicast_link_local(value: Any) -> bool:
    found = _address(value["ip"])
    return found.is_link_local and not found.is_multicast


def _is_multicast_link_local(value: Any) -> bool:
    found = _address(value["ip"])
    local = "224.0.0.0/24" if found.version == 4 else "ff02::/16"
    return found in ipaddress.ip_network(local)


def _is_global_unicast(value: Any) -> bool:
    found = _address(value["ip"])
    return not (
        found.is_unspecified
        or found.is_loopback
        or found.is_multicast
        or found.is_link_local
        or str(found) == "255.255.255.255"
    )


METHODS: Mapping[str, Callable[..., Any]] = {
    "family": lambda value: _address(value["ip"]).version,
    "isUnspecified": _of("is_unspecified"),
    "isLoopback": _of("is_loopback"),
    "isLinkLocalMulticast": _is_multicast_link_local,
    "isLinkLocalUnicast": _is_unicast_link_local,
    "isGlobalUnicast": _is_global_unicast,
    "ip": address_of,
    "masked": masked,
    "prefixLength": prefix_length,
    "containsIP": contains_ip,
    "containsCIDR": contains_cidr,
    "getScheme": lambda value: urlsplit(value["url"]).scheme,
    "getHost": lambda value: urlsplit(value["url"]).netloc.rpartition("@")[2],
    "getHostname": lambda value: _hostname(value["url"]),
    "getPort": lambda value: _port(value["url"]),
    "getEscapedPath": lambda value: urlsplit(value["url"]).path,
    "getQuery": lambda value: parse_qs(urlsplit(value["url"]).query, True),
}


def _hostname(stated: str) -> str:
    host = urlsplit(stated).netloc.rpartition("@")[2]
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _port(stated: str) -> str:
    host = urlsplit(stated).netloc.rpartition("@")[2]
    return host.rpartition("]")[2].partition(":")[2]
