"""The highest cost of a rule, estimated as in the API server. Pure.

A step costs one, each byte that is read costs a tenth, and both are multiplied by the
possible number of items of a list or map. If the real estimator does not know a size,
it uses the largest number. Here an unknown size counts as 1, so that no rule is refused
that the real server accepts.
"""

from collections.abc import Mapping
from math import ceil

import attrs

from asoreconcile.resources.cel.sizes import TEXT, Sized
from asoreconcile.resources.cel.syntax import ExpressionNode

LIST, MAP = 10, 30
_BYTE, _REGEX = 0.1, 0.25
_COMPARED = ("_<_", "_<=_", "_>_", "_>=_")
_READ = ("lowerAscii", "upperAscii", "substring", "trim", "url", "charAt")
_PARSED = (
    *("quantity", "isQuantity", "ip", "isIP", "ip.isCanonical", "cidr", "isCIDR"),
    *("semver", "isSemver", "containsIP", "containsCIDR"),
)
_FORMAT = 32  # of the longest pattern of a named format
_EACH = ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf")
_TEXTS = ("string", "bytes")
_COUNTED = ("list", "map", *_TEXTS)
_UNKNOWN = Sized("dyn", 0, 0)
_ONE = Sized("int", 1)
# A field of an int-or-string: the real estimator takes it for as large as can be.
_ANYTHING = Sized("dyn", 2**63)


@attrs.frozen
class Cost:
    """The highest cost of an expression, and the size of its result."""

    most: int
    value: Sized


def cost(tree: ExpressionNode, variables: Mapping[str, Sized]) -> int:
    """Return the highest cost of one evaluation.

    variables: the sizes of `self` and `oldSelf`.
    """
    return _cost(tree, variables).most


def _cost(node: ExpressionNode | None, known: Mapping[str, Sized]) -> Cost:
    if node is None:
        return Cost(0, _UNKNOWN)
    match node.kind:
        case "const":
            size = len(node.value) if isinstance(node.value, bytes) else 1
            text = isinstance(node.value, bytes)
            return Cost(0, Sized("string", size) if text else _ONE)
        case "ident":
            return Cost(1, known.get(node.name, _UNKNOWN))
        case "select":
            return _select(node, known)
        case "list":
            return _list(node, known)
        case "map":
            inner = [_cost(part, known) for part in node.parts]
            return Cost(MAP + sum(c.most for c in inner), Sized("map", len(inner) // 2))
        case "fold":
            return _fold(node, known)
    return _call(node, known)


def _select(node: ExpressionNode, known: Mapping[str, Sized]) -> Cost:
    holder = _cost(node.parts[0], known)
    if node.is_test:
        return Cost(holder.most, Sized("bool", 1))
    value = holder.value.fields.get(node.name)
    if value is None and holder.value.kind == "map":
        value = holder.value.inner
    if value is None and holder.value.kind == "dyn" and holder.value.most:
        value = _ANYTHING
    step = holder.value.kind in ("map", "object")
    return Cost(holder.most + step, value or _UNKNOWN)


def _list(node: ExpressionNode, known: Mapping[str, Sized]) -> Cost:
    items = [_cost(part, known) for part in node.parts]
    largest = max((c.value for c in items), key=lambda v: v.most, default=_UNKNOWN)
    return Cost(
        LIST + sum(c.most for c in items), Sized("list", len(items), 2, largest)
    )


def _fold(node: ExpressionNode, known: Mapping[str, Sized]) -> Cost:
    items, first, condition, step, result = node.parts
    over, initial = _cost(items, known), _cost(first, known)
    one, two, collected = node.names
    inner = over.value.inner or _UNKNOWN
    key = TEXT if over.value.kind == "map" else Sized("int", 1)
    alone = key if over.value.kind == "map" else inner
    inside = {**known, collected: initial.value}
    inside |= {one: key, two: inner} if two else {one: alone}
    loop = _cost(condition, inside).most + _cost(step, inside).most
    ended = _cost(result, {**known, collected: initial.value})
    if items is not None and items.kind == "list" and not items.parts:
        return Cost(over.most + initial.most + ended.most, ended.value)  # cel.bind
    value = ended.value
    if first is not None and first.kind in ("list", "map"):
        made = _collected(step, inside)
        value = Sized(first.kind, over.value.most, 2, made)
    total = over.most + initial.most + ended.most + over.value.most * loop
    return Cost(total, value)


def _collected(step: ExpressionNode | None, known: Mapping[str, Sized]) -> Sized | None:
    """Return the size of the items that a macro puts into its list, or None."""
    if step is None or step.kind != "call":
        return None
    for part in reversed(step.parts):
        if part is not None and part.kind == "list" and part.parts:
            return _cost(part.parts[0], known).value
        if (found := _collected(part, known)) is not None:
            return found
    return None


def _call(node: ExpressionNode, known: Mapping[str, Sized]) -> Cost:
    costs = [_cost(part, known) for part in node.parts]
    spent = sum(c.most for c in costs)
    target, *rest = (c.value for c in costs)
    values = [*([target] if node.parts[0] else []), *rest]
    match node.name:
        case "_&&_" | "_||_":
            return Cost(spent, Sized("bool", 1))
        case "_?_:_":
            most = costs[1].most + max(costs[2].most, costs[3].most)
            return Cost(most, max(rest[1:], key=lambda v: v.most))
        case "_==_" | "_!=_":
            return Cost(spent + _read(min(_size(v) for v in rest)), Sized("bool", 1))
        case name if name in _COMPARED:
            texts = any(v.kind in _TEXTS for v in rest)
            read = _read(min(_size(v) for v in rest)) if texts else 1
            return Cost(spent + read, Sized("bool", 1))
        case "_+_":
            return _added(rest, spent)
        case "@in" | "_in_":
            read = _size(rest[1]) if rest[1].kind == "list" else 1
            return Cost(spent + read, Sized("bool", 1))
        case "_[_]" | "_[?_]":
            return Cost(spent + 1, rest[0].inner or _UNKNOWN)
    return _function(node.name, values, spent)


def _added(values: list[Sized], spent: int) -> Cost:
    size = sum(_size(v) for v in values)
    text = next((v for v in values if v.kind in _TEXTS), None)
    if text is not None:
        return Cost(spent + _read(size), Sized(text.kind, size))
    lists = [v for v in values if v.kind == "list"]
    if lists:
        inner = max((v.inner or _UNKNOWN for v in lists), key=lambda v: v.most)
        return Cost(spent + 1, Sized("list", size, 2, inner))
    return Cost(spent + 1, _ONE)


def _function(name: str, values: list[Sized], spent: int) -> Cost:
    """Return the cost of a function, given its target and its arguments."""
    first = values[0] if values else _UNKNOWN
    size = _size(first)
    other = _size(values[1]) if len(values) > 1 else 0
    truth = Sized("bool", 1)
    match name:
        case "startsWith" | "endsWith":
            return Cost(spent + _read(other), truth)
        case "contains":
            return Cost(spent + _read(size) * _read(other), truth)
        case "matches":
            return Cost(spent + _read(size + 1) * ceil(other * _REGEX), truth)
        case "find" | "findAll":
            value = Sized("string" if name == "find" else "list", size, 2, first)
            return Cost(spent + _read(size + 1) * ceil(other * _REGEX), value)
        case _ if name in _READ:
            return Cost(spent + _read(size), Sized("string", size))
        case _ if name in _PARSED:
            return Cost(spent + _read(size), _UNKNOWN)
        case "validate":
            return Cost(spent + _read(other + 1) * _FORMAT, _UNKNOWN)
        case "split":
            return Cost(spent + ceil(size * 2 * _BYTE), Sized("list", size, 2, first))
        case "join":
            inner = _size(first.inner or _UNKNOWN)
            made = size * inner + other * max(size - 1, 0)
            return Cost(spent + _read(made), Sized("string", made))
        case "replace":
            third = _size(values[2]) if len(values) > 2 else 0
            made = max(size, (size + 1) * third + size if not other else size * third)
            return Cost(spent + ceil(size * 2 * _BYTE), Sized("string", made))
        case _ if name in _EACH:
            each = 1
            if first.inner is not None and first.inner.kind in _TEXTS:
                each += _read(_size(first.inner))
            read = _read(size) if first.kind in _TEXTS else size * each
            return Cost(spent + read, first.inner or _ONE)
        case "string" if first.kind == "dyn" and size:
            return Cost(spent + _read(size), Sized(name, size))
        case "bytes" | "string" if first.kind in _TEXTS and first.kind != name:
            return Cost(spent + _read(size), Sized(name, size * 4))
        case "dyn" | "string":
            return Cost(spent + 1, first)
    if name.startswith("sets."):
        return Cost(spent + size * other, truth)
    return Cost(spent + 1, Sized("bool", 1))


def _size(value: Sized) -> int:
    return value.most


def _read(size: int) -> int:
    return ceil(size * _BYTE)
