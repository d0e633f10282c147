"""The functions of values that Kubernetes adds to CEL: quantities, addresses, networks,
URLs, semantic versions and named formats. Pure.

When types are checked, each sort of value has a type of its own. When an expression
runs, values are maps with one entry, and the functions find the sort by its name.
"""

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from asoreconcile.resources.cel import formats, networks, quantities, versions

PACKAGE = "kubernetes"
_SORTS = ("Quantity", "IP", "CIDR", "URL", "Semver", "Format", "Problems", "Named")


@attrs.frozen
class Signature:
    """One form of a function.

    gives, takes: a sort of value, or a type of CEL. is_member: whether it is
    a method of the first value.
    """

    name: str
    gives: str
    takes: tuple[str, ...]
    impl: Callable[..., Any]
    is_member: bool = True


def declared_messages(declare: Callable[[str], Any]) -> None:
    """Declare an empty message for each sort of value."""
    for name in _SORTS:
        declare(name)


def functions(cel: Any, *, is_typed: bool) -> list[Any]:
    """Return the functions for the engine's environment.

    cel: the engine's module. is_typed: whether the environment only checks types.
    """
    named: dict[str, list[Any]] = {}
    known: set[tuple[Any, ...]] = set()
    found = [*_signatures(), *(() if is_typed else _of_optionals())]
    for number, one in enumerate(found):
        takes = [_type(cel, sort, is_typed=is_typed) for sort in one.takes]
        key = (one.name, one.is_member, *map(str, takes))
        if key in known:
            continue  # untyped: one function tells several sorts apart
        known.add(key)
        overload = cel.Overload(
            f"kubernetes_value_{number}",
            return_type=_type(cel, one.gives, is_typed=is_typed),
            parameters=takes,
            is_member=one.is_member,
            impl=one.impl,
        )
        named.setdefault(one.name, []).append(overload)
    return [cel.FunctionDecl(name, made) for name, made in named.items()]


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
    return getattr(kinds, sort)


def _of_texts() -> tuple[tuple[str, str, tuple[str, ...], Callable[..., Any]], ...]:
    """Return the functions that are not methods: name, result, arguments, function."""
    return (
        ("quantity", "Quantity", ("STRING",), quantities.made),
        ("isQuantity", "BOOL", ("STRING",), _accepts(quantities.made)),
        ("sign", "INT", ("Quantity",), quantities.sign),
        ("ip", "IP", ("STRING",), networks.address),
        ("isIP", "BOOL", ("STRING",), _accepts(networks.address)),
        ("ip.isCanonical", "BOOL", ("STRING",), networks.is_canonical),
        ("string", "STRING", ("IP",), networks.text),
        ("string", "STRING", ("CIDR",), networks.text),
        ("cidr", "CIDR", ("STRING",), networks.network),
        ("isCIDR", "BOOL", ("STRING",), _accepts(networks.network)),
        ("url", "URL", ("STRING",), networks.url),
        ("isURL", "BOOL", ("STRING",), _accepts(networks.url)),
        ("semver", "Semver", ("STRING",), versions.made),
        ("semver", "Semver", ("STRING", "BOOL"), versions.made),
        ("isSemver", "BOOL", ("STRING",), _accepts(versions.made)),
        ("isSemver", "BOOL", ("STRING", "BOOL"), _accepts(versions.made)),
        ("format.named", "Named", ("STRING",), formats.named),
        *((f"format.{n}", "Format", (), _constant(n)) for n in formats.NAMES),
    )


def _signatures() -> Iterator[Signature]:
    for name, gives, takes, impl in _of_texts():
        yield Signature(name, gives, takes, impl, is_member=False)
    for name, impl in quantities.METHODS.items():
        yield Signature(name, quantities.GIVES[name], ("Quantity",), impl)
    for name, impl in quantities.SUMS.items():
        yield Signature(name, "Quantity", ("Quantity", "Quantity"), impl)
        yield Signature(name, "Quantity", ("Quantity", "INT"), impl)
    for name, (gives, compare) in _COMPARED.items():
        for sort in ("Quantity", "Semver"):
            yield Signature(name, gives, (sort, sort), _over_keys(compare))
    for name in ("major", "minor", "patch"):
        yield Signature(name, "INT", ("Semver",), versions.part(name))
    for name, impl in networks.OF_ADDRESSES.items():
        gives = "INT" if name == "family" else "BOOL"
        yield Signature(name, gives, ("IP",), impl)
    for name, impl in networks.OF_URLS.items():
        gives = "QUERY" if name == "getQuery" else "STRING"
        yield Signature(name, gives, ("URL",), impl)
    yield Signature("ip", "IP", ("CIDR",), networks.address_of)
    yield Signature("masked", "CIDR", ("CIDR",), networks.masked)
    yield Signature("prefixLength", "INT", ("CIDR",), networks.prefix_length)
    for sort in ("IP", "STRING"):
        yield Signature("containsIP", "BOOL", ("CIDR", sort), networks.contains_ip)
    for sort in ("CIDR", "STRING"):
        yield Signature("containsCIDR", "BOOL", ("CIDR", sort), networks.contains_cidr)
    yield Signature("validate", "Problems", ("Format", "STRING"), formats.validate)


def _of_optionals() -> Iterator[Signature]:
    """Yield the methods of a result that the engine cannot make as its own optional."""
    yield Signature("hasValue", "BOOL", ("Problems",), lambda p: bool(p["optional"]))
    yield Signature("value", "DYN", ("Problems",), lambda p: p["optional"])


def _accepts(make: Callable[..., Any]) -> Callable[..., bool]:
    def is_one(*stated: Any) -> bool:
        try:
            make(*stated)
        except ValueError:
            return False
        return True

    return is_one


def _constant(name: str) -> Callable[[], Any]:
    return lambda: {"format": name}


def _over_keys(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compared(one: Any, two: Any) -> Any:
        key = versions.key if "semver" in one else quantities.exact
        return compare(key(one), key(two))

    return compared


_COMPARED: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "isGreaterThan": ("BOOL", lambda a, b: a > b),
    "isLessThan": ("BOOL", lambda a, b: a < b),
    "compareTo": ("INT", lambda a, b: (a > b) - (a < b)),
}
