"""Properties that Azure stores differently from the PUT, by resource type. Pure.

Azure accepts these values and keeps its own, so that another PUT would not help. They
are listed in the member `stored` of `type_facts.json`. If a property is missing there,
the operator learns its behaviour for each resource, at the cost of one PUT (`drift`).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from asoreconcile.azure.catalogue.body_shape import plain_path
from asoreconcile.azure.catalogue.type_facts import facts_of
from asoreconcile.azure.reconcile.model.differences import Difference
from asoreconcile.azure.reconcile.model.normalization import is_same, plain

_VERSION = re.compile(r"\d+(\.\d+)*")


def _utf8(want: Any, have: Any, _values: Sequence[Any]) -> bool:
    """Treat utf8 and utf8mb3 as equal: MySQL has renamed the character set."""
    renamed = re.sub(r"^utf8(?![a-z0-9])", "utf8mb3", str(want).lower())
    return str(have).lower() == renamed


def _for_all_keys(want: Any, have: Any, _values: Sequence[Any]) -> bool:
    """Return whether Azure has added `allkeys` to permissions without a pattern of
    keys. Any other word may open access.
    """
    mine, theirs = str(want).split(), str(have).split()
    return "~" not in str(want) and theirs == [*mine, "allkeys"]


def _same_end(want: Any, have: Any, _values: Sequence[Any]) -> bool:
    """Return whether two ids differ only in the part before the provider, which Azure
    may complete.
    """
    mine, theirs = (plain(value).split("/providers/")[-1] for value in (want, have))
    return mine == theirs


_KEEPS: Mapping[str, Callable[[Any, Any, Sequence[Any]], bool]] = {
    "any": lambda _want, _have, _values: True,
    "element with path": lambda _want, have, values: (
        isinstance(have, dict) and have.get("path") in values
    ),
    "for all keys": _for_all_keys,
    "one of": lambda _want, have, values: any(is_same(one, have) for one in values),
    "renamed utf8": _utf8,
    "same end": _same_end,
    "switched on": lambda want, have, _values: want is False and have is True,
}
"""By rule: want, have, the rule's values -> whether Azure keeps `have` for `want`."""


def not_kept(arm_type: str, found: Iterable[Difference]) -> list[Difference]:
    """Return the differences that no rule of the type explains."""
    return [one for one in found if not _is_known(one, arm_type)]


def _is_known(one: Difference, arm_type: str) -> bool:
    path = plain_path(one.path, "[]")
    if one.kind == "value" and _is_alias(path, one.want, one.have):
        return True
    return any(
        _KEEPS[rule.keeps](one.want, one.have, rule.values)
        for rule in facts_of(arm_type).stored
        if rule.path == path and rule.kind == one.kind
    )


def _is_alias(path: str, want: Any, have: Any) -> bool:
    """Return whether Azure has completed a partial version, such as 6 to 6.0 or 1.31 to
    1.31.4.
    """
    if not path.endswith("version") or not isinstance(have, str):
        return False
    text = str(want)
    return bool(_VERSION.fullmatch(text)) and have.startswith(f"{text}.")
