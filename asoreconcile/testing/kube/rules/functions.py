"""The code of the functions that Kubernetes adds to CEL. Pure.

When an expression runs, values are maps with one entry, and the functions find the sort
of a value by its name.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from asoreconcile.resources.cel.functions import FORMATS
from asoreconcile.testing.kube.rules import (
    formats,
    lists,
    networks,
    quantities,
    versions,
)


def code_of(name: str, is_member: bool) -> Callable[..., Any]:
    """Return the code of a function. is_member: whether it is a method."""
    return (_METHODS if is_member else _PLAIN)[name]


def _accepts(make: Callable[..., Any]) -> Callable[..., bool]:
    def is_one(*stated: Any) -> bool:
        try:
            make(*stated)
        except ValueError:
            return False
        return True

    return is_one


def _over_keys(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compared(one: Any, two: Any) -> Any:
        key = versions.key if "semver" in one else quantities.exact
        return compare(key(one), key(two))

    return compared


_PLAIN: Mapping[str, Callable[..., Any]] = {
    "quantity": quantities.made,
    "isQuantity": _accepts(quantities.made),
    "sign": quantities.sign,
    "ip": networks.address,
    "isIP": _accepts(networks.address),
    "ip.isCanonical": networks.is_canonical,
    "string": networks.text,
    "cidr": networks.network,
    "isCIDR": _accepts(networks.network),
    "url": networks.url,
    "isURL": _accepts(networks.url),
    "semver": versions.made,
    "isSemver": _accepts(versions.made),
    "format.named": formats.named,
    **{f"format.{name}": partial(dict, format=name) for name in FORMATS},
}
_METHODS: Mapping[str, Callable[..., Any]] = {
    **lists.CODE,
    **quantities.METHODS,
    **networks.METHODS,
    **{name: versions.part(name) for name in ("major", "minor", "patch")},
    "isGreaterThan": _over_keys(lambda a, b: a > b),
    "isLessThan": _over_keys(lambda a, b: a < b),
    "compareTo": _over_keys(lambda a, b: (a > b) - (a < b)),
    "validate": formats.validate,
    "hasValue": lambda problems: bool(problems["optional"]),
    "value": lambda problems: problems["optional"],
}
