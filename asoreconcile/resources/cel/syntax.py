"""The syntax tree of an expression, read from the engine's output. Pure.

The output is a `cel.expr.CheckedExpr` in protobuf. A node has a kind and parts.
"""

from functools import lru_cache
from typing import Any

import attrs

from asoreconcile.resources.cel.wire_format import as_bytes, fields_of

_KINDS = {
    3: "const",
    4: "ident",
    5: "select",
    6: "call",
    7: "list",
    8: "map",
    9: "fold",
}
_EXPRESSION = 4
_STRING, _BYTES = 6, 7


@attrs.frozen
class ExpressionNode:
    """A node of the tree.

    name: name of an identifier, a field or a function.
    value: value of a constant.
    parts: parts of the node. For a call, its target (or None) and its arguments. For a
    fold (the expansion of a macro), its range, first value, condition, step and result,
    with the names of its variables.
    """

    kind: str
    name: str = ""
    value: Any = None
    parts: tuple["ExpressionNode | None", ...] = ()
    names: tuple[str, ...] = ()
    is_test: bool = False


@lru_cache(maxsize=1000)  # the CRDs of one catalogue share a few rules
def parsed(checked: bytes) -> ExpressionNode:
    """Return the tree of a serialized expression, in an Any or bare."""
    message = dict(fields_of(memoryview(checked)))
    inner = as_bytes(message[2]) if 1 in message else memoryview(checked)
    return _node(as_bytes(dict(fields_of(inner))[_EXPRESSION]))


def _node(data: memoryview) -> ExpressionNode:
    for number, content in fields_of(data):
        if number in _KINDS:
            return _made(_KINDS[number], as_bytes(content))
    return ExpressionNode("const")


def _made(kind: str, data: memoryview) -> ExpressionNode:
    found = [(number, content) for number, content in fields_of(data)]
    one = dict(found)

    def text(number: int) -> str:
        return bytes(as_bytes(one.get(number, b""))).decode()

    def part(number: int) -> ExpressionNode | None:
        return _node(as_bytes(one[number])) if number in one else None

    match kind:
        case "const":
            return ExpressionNode(kind, value=_constant(one))
        case "ident":
            return ExpressionNode(kind, text(1))
        case "select":
            return ExpressionNode(
                kind, text(2), parts=(part(1),), is_test=bool(one.get(3))
            )
        case "call":
            arguments = [_node(as_bytes(c)) for n, c in found if n == 3]
            return ExpressionNode(kind, text(2), parts=(part(1), *arguments))
        case "list":
            items = [_node(as_bytes(c)) for n, c in found if n == 1]
            return ExpressionNode(kind, parts=tuple(items))
        case "map":
            entries = [dict(fields_of(as_bytes(c))) for n, c in found if n == 2]
            inner = [_node(as_bytes(e[n])) for e in entries for n in (3, 4) if n in e]
            return ExpressionNode(kind, parts=tuple(inner))
    names = (text(1), text(8), text(3))
    return ExpressionNode(
        "fold", parts=tuple(part(n) for n in (2, 4, 5, 6, 7)), names=names
    )


def _constant(one: dict[int, Any]) -> Any:
    for number in (_STRING, _BYTES):
        if number in one:
            return bytes(as_bytes(one[number]))
    return next(iter(one.values()), None)
