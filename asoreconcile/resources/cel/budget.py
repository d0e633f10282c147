"""The cost limits of a schema's rules, as in the API server. Pure.

Each rule has a limit by itself, multiplied by the number of its values in one object,
and all rules together have one. Rules that do not compile are reported elsewhere and
cost nothing here.
"""

from collections.abc import Container, Iterator

import attrs

from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.cel.cost import cost
from asoreconcile.resources.cel.engine import CelMissingError, RuleError
from asoreconcile.resources.cel.rule_programs import program
from asoreconcile.resources.cel.sizes import Sized, sized, times_in_one
from asoreconcile.resources.cel.syntax import parsed
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.resources.crds.structural import RULES

_MOST_OF_ONE = 10_000_000
_MOST_OF_ALL = 100_000_000
_SHOWN = 4
_HOW = (
    " (try simplifying the rule, or adding maxItems, maxProperties, and maxLength "
    "where arrays, maps, and strings are declared)"
)


@attrs.frozen
class Priced:
    """One expression in its place.

    times: the largest number of evaluations for one object.
    """

    at: str
    name: str
    once: int
    times: int

    @property
    def most(self) -> int:
        """Return the highest cost of the expression for one object, in CEL's units."""
        return self.once * self.times


def causes(schema: JsonObject, at: str, places: Container[str]) -> Iterator[Cause]:
    """Yield the rules of a version's schema that cost too much."""
    found = list(_priced(schema, at, 1, places, is_root=True))
    for one in found:
        if one.most > _MOST_OF_ONE:
            why = _exceeds(f"estimated {one.name} cost", one.most, _MOST_OF_ONE)
            yield Cause(one.at, "FieldValueForbidden", f"Forbidden: {why}")
    total = sum(one.most for one in found)
    if total <= _MOST_OF_ALL:
        return
    dear = [one for one in found if one.most >= _MOST_OF_ALL // 100]
    for one in sorted(dear, key=lambda one: -one.most)[:_SHOWN]:
        why = (
            "contributed to estimated rule cost total exceeding cost limit for entire "
            "OpenAPIv3 schema"
        )
        yield Cause(one.at, "FieldValueForbidden", f"Forbidden: {why}")
    name = (
        "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
    )
    why = _exceeds(name, total, _MOST_OF_ALL)
    yield Cause(at, "FieldValueForbidden", f"Forbidden: {why}")


def _priced(
    schema: JsonObject,
    at: str,
    times: int | None,
    places: Container[str],
    *,
    is_root: bool = False,
) -> Iterator[Priced]:
    """Yield all expressions of a schema.

    times: if None, the number of values has no limit.
    """
    if at in places:
        yield from _own(schema, at, times, is_root=is_root)
    inside = _times_inside(schema, times)
    for name, part in (schema.get("properties") or {}).items():
        if isinstance(part, dict):
            yield from _priced(part, f"{at}.properties[{name}]", inside, places)
    for name in ("additionalProperties", "items"):
        if isinstance(schema.get(name), dict):
            yield from _priced(schema[name], f"{at}.{name}", inside, places)


def _times_inside(schema: JsonObject, times: int | None) -> int | None:
    if times is None:
        return None
    most: int | None = 1
    if schema.get("type") == "array":
        most = schema.get("maxItems")
    elif isinstance(schema.get("additionalProperties"), dict):
        most = schema.get("maxProperties")
    return None if most is None else times * max(most, 0)


def _own(
    schema: JsonObject, at: str, times: int | None, *, is_root: bool
) -> Iterator[Priced]:
    value = sized(schema, is_root=is_root)
    if value is None:
        return
    often = times_in_one(value) if times is None else times
    for index, rule in enumerate(schema[RULES]):
        for name, field, count in (
            ("rule", "rule", often),
            ("messageExpression", "messageExpression", 1),
        ):
            once = _once(rule, field, value)
            if once is not None:
                yield Priced(f"{at}.{RULES}[{index}].{field}", name, once, count)


def _once(rule: JsonObject, field: str, value: Sized) -> int | None:
    if not str(rule.get(field) or "").strip():
        return None
    plain = {field: rule[field]}
    try:
        tree = parsed(program(plain, field).tree)
    except (RuleError, CelMissingError):
        return None
    return cost(tree, {"self": value, "oldSelf": value})


def _exceeds(name: str, most: int, limit: int) -> str:
    factor = most / limit
    if factor > 100:
        shown = "more than 100x"
    else:
        shown = f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{name} exceeds budget by factor of {shown}{_HOW}"
