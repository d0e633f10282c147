"""Properties that Azure stores differently from the PUT, by resource type. Pure.

Azure accepts these values and keeps its own, so another PUT would not help. All were
seen in recorded traffic. Properties that are missing here are learnt for each resource,
at the cost of one PUT (`drift`).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs

from asoreconcile.azure.reconcile.model.differences import Difference, DifferenceKind
from asoreconcile.azure.reconcile.model.normalization import is_same, plain

_ELEMENT = re.compile(r"\[[^\]]*\]")
_VERSION = re.compile(r"\d+(\.\d+)*")


@attrs.frozen
class TypeRule:
    """A rule for one field of a type.

    path: in lower case, lists as `x[]`. keeps: want, have -> whether Azure is known
    to store `have` for `want`.
    """

    path: str
    kind: DifferenceKind
    keeps: Callable[[Any, Any], bool]


def _always(_want: Any, _have: Any) -> bool:
    return True


def _has(*values: Any) -> Callable[[Any, Any], bool]:
    """Azure stores one of these, whatever was wanted."""
    return lambda _want, have: any(is_same(value, have) for value in values)


def _is_on(want: Any, have: Any) -> bool:
    """Cannot be switched off."""
    return want is False and have is True


def _has_more_words(want: Any, have: Any) -> bool:
    return set(str(want).split()) <= set(str(have).split())


def _has_element(name: str, value: str) -> Callable[[Any, Any], bool]:
    return lambda _want, have: isinstance(have, dict) and have.get(name) == value


def _utf8(want: Any, have: Any) -> bool:
    """Treat utf8 and utf8mb3 as equal: MySQL has renamed the character set."""
    renamed = re.sub(r"^utf8(?![a-z0-9])", "utf8mb3", str(want).lower())
    return str(have).lower() == renamed


def _same_end(want: Any, have: Any) -> bool:
    """An id that Azure completed with the group of its account."""
    mine, theirs = (plain(value).split("/providers/")[-1] for value in (want, have))
    return mine == theirs


_RULES: Mapping[str, Sequence[TypeRule]] = {
    "microsoft.cache/redis": (
        TypeRule("properties/redisconfiguration/maxmemory-delta", "value", _always),
        TypeRule("properties/redisconfiguration/maxmemory-reserved", "value", _always),
    ),
    "microsoft.cache/redis/accesspolicies": (
        TypeRule("properties/permissions", "value", _has_more_words),
    ),
    "microsoft.dbformysql/flexibleservers/databases": (
        TypeRule("properties/charset", "value", _utf8),
        TypeRule("properties/collation", "value", _utf8),
    ),
    "microsoft.documentdb/databaseaccounts/mongodbroledefinitions": (
        TypeRule("properties/type", "value", _has(1, 0, "CustomRole", "BuiltInRole")),
    ),
    "microsoft.documentdb/databaseaccounts/sqldatabases/containers": (
        TypeRule(
            "properties/resource/indexingpolicy/excludedpaths[]",
            "list-extra",
            _has_element("path", '/"_etag"/?'),
        ),
    ),
    "microsoft.documentdb/databaseaccounts/sqlroleassignments": (
        TypeRule("properties/roledefinitionid", "value", _same_end),
        TypeRule("properties/scope", "value", _same_end),
    ),
    "microsoft.insights/workbooks": (
        TypeRule("tags/hidden-title", "map-extra", _always),
    ),
    "microsoft.keyvault/vaults": (
        TypeRule("properties/enablesoftdelete", "value", _is_on),
    ),
    "microsoft.machinelearningservices/workspaces": (
        TypeRule("sku/name", "value", _has("Basic")),
        TypeRule("sku/tier", "value", _has("Basic")),
    ),
    "microsoft.operationalinsights/workspaces": (
        TypeRule("properties/sku/name", "value", _has("PerGB2018")),
    ),
    "microsoft.servicebus/namespaces": (
        TypeRule("properties/zoneredundant", "value", _is_on),
    ),
    "microsoft.signalrservice/signalr": (
        TypeRule("properties/networkacls/privateendpoints[]", "list-missing", _always),
    ),
}


def not_kept(arm_type: str, found: Iterable[Difference]) -> list[Difference]:
    """The differences that are not known for their type."""
    rules = _RULES.get(arm_type.lower(), ())
    return [one for one in found if not _is_known(one, rules)]


def _is_known(one: Difference, rules: Sequence[TypeRule]) -> bool:
    path = _ELEMENT.sub("[]", one.path).casefold()
    if one.kind == "value" and _is_alias(path, one.want, one.have):
        return True
    return any(
        rule.path == path and rule.kind == one.kind and rule.keeps(one.want, one.have)
        for rule in rules
    )


def _is_alias(path: str, want: Any, have: Any) -> bool:
    """Return whether Azure completes a partial version: 6 is 6.0, and 1.31 may be
    1.31.4.
    """
    if not path.endswith("version") or not isinstance(have, str):
        return False
    text = str(want)
    return bool(_VERSION.fullmatch(text)) and have.startswith(f"{text}.")
