"""The functions that Kubernetes adds to CEL: of quantities, addresses, networks, URLs,
semantic versions, named formats, lists and regular expressions. Pure.

When types are checked, each sort of value has a type of its own. Otherwise values are
maps with one entry. This module has only the signatures, which are enough for checks. A
program that evaluates expressions must supply the code of the functions.
"""

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

PACKAGE = "kubernetes"
FORMATS = (
    *("dns1123Label", "dns1123Subdomain", "dns1035Label", "dns1123LabelPrefix"),
    *("dns1123SubdomainPrefix", "dns1035LabelPrefix", "labelValue", "uuid"),
    *("qualifiedName", "uri", "byte", "date", "datetime"),
)
"""Names of formats, as in `format.uuid()`."""

CodeOf = Callable[[str, bool], Callable[..., Any] | None]
"""Returns the code of a function: by its name, and whether it is a method of its first
value.
"""

_Signature = tuple[str, str, str]
"""The names of functions, what they give, and what they take: sorts of values, and
types of CEL; a list of a type is in brackets.
"""

_SORTS = ("Quantity", "IP", "CIDR", "URL", "Semver", "Format", "Problems", "Named")
_PLAIN: tuple[_Signature, ...] = (
    ("quantity", "Quantity", "STRING"),
    ("isQuantity isIP ip.isCanonical isCIDR isURL isSemver", "BOOL", "STRING"),
    ("sign", "INT", "Quantity"),
    ("ip", "IP", "STRING"),
    ("string", "STRING", "IP"),
    ("string", "STRING", "CIDR"),
    ("cidr", "CIDR", "STRING"),
    ("url", "URL", "STRING"),
    ("semver", "Semver", "STRING"),
    ("semver", "Semver", "STRING BOOL"),
    ("isSemver", "BOOL", "STRING BOOL"),
    ("format.named", "Named", "STRING"),
    (" ".join(f"format.{name}" for name in FORMATS), "Format", ""),
)
_METHODS: tuple[_Signature, ...] = (
    ("isInteger", "BOOL", "Quantity"),
    ("asInteger", "INT", "Quantity"),
    ("asApproximateFloat", "DOUBLE", "Quantity"),
    ("add sub", "Quantity", "Quantity Quantity"),
    ("add sub", "Quantity", "Quantity INT"),
    ("isGreaterThan isLessThan", "BOOL", "Quantity Quantity"),
    ("isGreaterThan isLessThan", "BOOL", "Semver Semver"),
    ("compareTo", "INT", "Quantity Quantity"),
    ("compareTo", "INT", "Semver Semver"),
    ("major minor patch", "INT", "Semver"),
    ("family", "INT", "IP"),
    ("isUnspecified isLoopback isLinkLocalMulticast", "BOOL", "IP"),
    ("isLinkLocalUnicast isGlobalUnicast", "BOOL", "IP"),
    ("getScheme getHost getHostname getPort getEscapedPath", "STRING", "URL"),
    ("getQuery", "QUERY", "URL"),
    ("ip", "IP", "CIDR"),
    ("masked", "CIDR", "CIDR"),
    ("prefixLength", "INT", "CIDR"),
    ("containsIP", "BOOL", "CIDR IP"),
    ("containsIP containsCIDR", "BOOL", "CIDR STRING"),
    ("containsCIDR", "BOOL", "CIDR CIDR"),
    ("validate", "Problems", "Format STRING"),
    ("indexOf lastIndexOf", "INT", "LIST DYN"),
    ("find", "STRING", "STRING STRING"),
    ("findAll", "[STRING]", "STRING STRING"),
    ("findAll", "[STRING]", "STRING STRING INT"),
)
# Of lists whose items have unknown types; and of a result that the engine cannot make
# as its own optional.
_UNTYPED: tuple[_Signature, ...] = (
    ("isSorted", "BOOL", "LIST"),
    ("sum min max", "DYN", "LIST"),
    ("hasValue", "BOOL", "Problems"),
    ("value", "DYN", "Problems"),
)
_NUMBERS = ("INT", "UINT", "DOUBLE")
_ORDERED = ("BOOL", "TIMESTAMP", "STRING", "BYTES")


def declared_messages(declare: Callable[[str], Any]) -> None:
    """Declare an empty message for each sort of value."""
    for name in _SORTS:
        declare(name)


def functions(cel: Any, *, is_typed: bool, code_of: CodeOf) -> list[Any]:
    """Return the functions for the engine's environment.

    cel: the engine's module. is_typed: whether the environment only checks types.
    """
    named: dict[str, list[Any]] = {}
    known: set[tuple[Any, ...]] = set()
    for number, (name, gives, stated, is_member) in enumerate(_overloads(is_typed)):
        takes = [_type(cel, sort, is_typed=is_typed) for sort in stated.split()]
        key = (name, is_member, *map(str, takes))
        if key in known:
            continue  # untyped: one function tells several sorts apart
        known.add(key)
        overload = cel.Overload(
            f"kubernetes_{number}",
            return_type=_type(cel, gives, is_typed=is_typed),
            parameters=takes,
            is_member=is_member,
            impl=code_of(name, is_member),
        )
        named.setdefault(name, []).append(overload)
    return [cel.FunctionDecl(name, made) for name, made in named.items()]


def _overloads(is_typed: bool) -> Iterator[tuple[str, str, str, bool]]:
    """Yield each signature of one function, and whether it is a method."""
    found = [(one, False) for one in _PLAIN] + [(one, True) for one in _METHODS]
    found += [(one, True) for one in (() if is_typed else _UNTYPED)]
    found += _typed() if is_typed else []
    for (names, gives, takes), is_member in found:
        for name in names.split():
            yield name, gives, takes, is_member


def _typed() -> Iterator[tuple[_Signature, bool]]:
    """Yield the functions of lists by the type of items, and comparisons of numbers of
    two types.
    """
    for kind in (*_NUMBERS, "DURATION"):
        yield ("sum", kind, f"[{kind}]"), True
    for kind in (*_NUMBERS, "DURATION", *_ORDERED):
        yield ("isSorted", "BOOL", f"[{kind}]"), True
        yield ("min max", kind, f"[{kind}]"), True
    for one, two in permutations(_NUMBERS, 2):
        yield ("_<_ _<=_ _>_ _>=_", "BOOL", f"{one} {two}"), False


def _type(cel: Any, sort: str, *, is_typed: bool) -> Any:
    kinds = cel.Type
    if sort in {"Problems", "Named"} and is_typed:
        format_ = kinds(f"{PACKAGE}.Format")
        inner = format_ if sort == "Named" else kinds.List(kinds.STRING)
        return kinds.AbstractType("optional_type", [inner])
    if sort in _SORTS:
        return kinds(f"{PACKAGE}.{sort}") if is_typed else kinds.MAP
    if sort == "QUERY":
        return kinds.Map(kinds.STRING, kinds.List(kinds.STRING))
    if sort.startswith("["):
        return kinds.List(getattr(kinds, sort.strip("[]")))
    return getattr(kinds, sort)
