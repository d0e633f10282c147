"""The formats of strings and numbers in a schema. Pure.

The standard library checks addresses, dates, ids and mail addresses. The differences of
a real server were measured (`tests/contract`). It has formats of its own (durations in
Go's notation), and accepts any value for a format that it does not know.
"""

import base64
import binascii
import ipaddress
import re
import urllib.parse
from collections.abc import Callable
from datetime import date, datetime
from email.errors import MessageError
from email.headerregistry import Address
from email.utils import parseaddr
from typing import Any

_UNIT = (
    r"(?:ns|us|µs|μs|ms|[smhdw]|(?:nano|micro|milli)(?:seconds?|s)?|secs?|seconds?"
    r"|mins?|minutes?|hrs?|hours?|days?|weeks?|wks?|wk)"
)
_DURATION = re.compile(rf"0|[-+]?(?:\s*\d+(?:\.\d*)?\s*{_UNIT})+", re.IGNORECASE)
_ISO_DURATION = re.compile(
    r"P(?=.)(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)"
)
_INSTANT = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:[.,]\d+)?(?:[Zz]|[-+]\d\d:\d\d)"
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_IPV4 = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_TOP_LEVEL = re.compile(r"[a-z][a-z0-9-]+")
_PART = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"(?=.{{1,253}}$){_PART}(?:\.{_PART})*")
_MAC = re.compile(
    r"[0-9a-f]{2}(?:([:-])[0-9a-f]{2})(?:\1[0-9a-f]{2}){4}(?:(?:\1[0-9a-f]{2}){2})?"
    r"|[0-9a-f]{4}(?:\.[0-9a-f]{4}){2,3}",
    re.IGNORECASE,
)
_ISBN10, _ISBN13 = re.compile(r"\d{9}[\dX]"), re.compile(r"\d{13}")


def _matches(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda text: compiled.fullmatch(text) is not None


def _uuid(version: str, variant: str = "[0-9a-f]") -> Callable[[str], bool]:
    part = "[0-9a-f]"
    return _matches(
        f"{part}{{8}}-?{part}{{4}}-?{version}{part}{{3}}-?{variant}{part}{{3}}-?{part}{{12}}"
    )


def _is_ipv4(text: str) -> bool:
    """Return whether this is an IPv4 address. Leading zeros are accepted, as in
    servers.
    """
    return _IPV4.fullmatch(text) is not None and all(
        int(part) < 256 for part in text.split(".")
    )


def _is_ipv6(text: str) -> bool:
    try:
        return ipaddress.IPv6Address(text).scope_id is None
    except ValueError:
        return False


def _is_cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    if not slash or not bits.isdecimal():
        return False
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return "%" not in address


def _is_uri(text: str) -> bool:
    """Return whether this is an absolute URI or an absolute path."""
    if re.search(r"[\x00-\x1f\x7f]", text):
        return False
    try:
        parts = urllib.parse.urlsplit(text)
        _ = parts.port
    except ValueError:
        return False
    if " " in parts.netloc:
        return False
    return bool(parts.scheme) or text.startswith("/")


def _is_email(text: str) -> bool:
    try:
        return bool(Address(addr_spec=parseaddr(text)[1]).domain)
    except (ValueError, IndexError, MessageError):
        return False


def _is_hostname(text: str) -> bool:
    """Return whether this is a host name with one level, or with a top level of
    letters.
    """
    try:
        plain = text.encode("idna").decode()
    except UnicodeError:
        return False
    labels = plain.split(".")
    return (
        len(plain) <= 255
        and all(_LABEL.fullmatch(label) for label in labels)
        and (len(labels) == 1 or _TOP_LEVEL.fullmatch(labels[-1]) is not None)
    )


def _is_base64(text: str) -> bool:
    try:
        return bool(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return False


def _is_date(text: str) -> bool:
    try:
        return _DATE.fullmatch(text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _is_instant(text: str) -> bool:
    found = _INSTANT.fullmatch(text)
    if found is None:
        return False
    try:
        datetime.fromisoformat(f"{found[1]}T{found[2]}:{found[3]}:{found[4]}")
    except ValueError:
        return False
    return found[2] != "24"  # Python 3.14 reads this as midnight of the next day


def _is_duration(text: str) -> bool:
    return bool(_DURATION.fullmatch(text) or _ISO_DURATION.fullmatch(text))


def _is_isbn10(text: str) -> bool:
    digits = re.sub("[- ]", "", text).upper()
    if not _ISBN10.fullmatch(digits):
        return False
    values = [10 if sign == "X" else int(sign) for sign in digits]
    return sum(n * v for n, v in enumerate(values, 1)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub("[- ]", "", text)
    if not _ISBN13.fullmatch(digits):
        return False
    return sum(int(s) * (3 if n % 2 else 1) for n, s in enumerate(digits)) % 10 == 0


def _is_card(text: str) -> bool:
    """Return whether this is a card number, by its checksum (Luhn)."""
    digits = re.sub("[- ]", "", text)
    if not re.fullmatch(r"\d{13,16}", digits):
        return False
    doubled = (
        sum(divmod(2 * int(s), 10)) if n % 2 else int(s)
        for n, s in enumerate(reversed(digits))
    )
    return sum(doubled) % 10 == 0


_BYTE = r"\s*(25[0-5]|2[0-4]\d|1?\d?\d)\s*"
_STRINGS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _matches("[0-9a-f]{24}"),
    "byte": _is_base64,
    "cidr": _is_cidr,
    "creditcard": _is_card,
    "date": _is_date,
    "date-time": _is_instant,
    "datetime": _is_instant,
    "duration": _is_duration,
    "email": _is_email,
    "hexcolor": _matches("#?([0-9a-f]{3}|[0-9a-f]{6})"),
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "k8s-long-name": lambda text: _SUBDOMAIN.fullmatch(text) is not None,
    "k8s-short-name": lambda text: _LABEL.fullmatch(text) is not None,
    "mac": lambda text: _MAC.fullmatch(text) is not None,
    "rgbcolor": _matches(rf"rgb\({_BYTE},{_BYTE},{_BYTE}\)"),
    "ssn": _matches(r"\d{3}[- ]\d\d[- ]\d{4}"),
    "uri": _is_uri,
    "uuid": _uuid("[0-9a-f]"),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89ab]"),
    "uuid5": _uuid("5", "[89ab]"),
}
_NUMBERS: dict[str, tuple[float, float]] = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "float": (-3.4028234663852886e38, 3.4028234663852886e38),
}


def mistaken(format_: str, value: Any) -> str:
    """Return the format that a value violates, or "".

    For a number, the type is included: `integer with format int32`.
    """
    if isinstance(value, str):
        judge = _STRINGS.get(format_)
        return "" if judge is None or judge(value) else format_
    bounds = _NUMBERS.get(format_)
    if bounds is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return ""
    if bounds[0] <= value <= bounds[1]:
        return ""
    sort = "number" if format_ == "float" else "integer"
    return f"{sort} with format {format_}"
