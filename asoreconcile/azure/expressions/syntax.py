"""Read the checked syntax tree of an expression: its secrets, and one rewrite.

The engine returns its tree as a serialized `cel.expr.CheckedExpr`; only the fields that
are needed are declared here, and all others are preserved.
"""

from collections.abc import Iterator
from typing import Any

import attrs
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

SECRET = "secret"  # noqa: S105 - the variable's name
# The engine declares the first for transformMap and transformMapEntry but does not
# implement it; the second is ours (see `environment`).
MAP_INSERT = "cel.@mapInsert"
MAP_MERGE = "aso.@mapMerge"
MAP_MERGE_OVERLOAD = "aso_map_merge_map_map"

_PACKAGE = "aso.syntax"
_INDEXING = ("_[_]", "_[?_]", "_?._")


@attrs.frozen
class SecretUse:
    """The names of the secrets that an expression uses.

    whole: true if it also uses `secret` other than by a name, so that the names are not
    known.
    """

    names: frozenset[str]
    whole: bool


def secret_use(serialized: bytes) -> SecretUse:
    """Return the secrets that a checked expression names. Pure."""
    found = list(_uses(_checked(serialized)[1].expr, shadowed=False))
    return SecretUse(
        frozenset(name for name in found if name is not None),
        whole=None in found,
    )


def completed(serialized: bytes) -> bytes | None:
    """Return the tree with `MAP_MERGE` instead of `MAP_INSERT`; None if it has none."""
    wrapper, checked = _checked(serialized)
    inserts = [
        node
        for node in _nodes(checked.expr)
        if node.WhichOneof("kind") == "call_expr"
        and node.call_expr.function == MAP_INSERT
    ]
    if not inserts:
        return None
    next_id = max(node.id for node in _nodes(checked.expr)) + 1
    inserting = {node.id for node in inserts}
    for reference in checked.reference_map:
        if reference.key in inserting:
            del reference.value.overload_id[:]
            reference.value.overload_id.append(MAP_MERGE_OVERLOAD)
    # From the inside out, because an outer node copies its parts.
    for node in reversed(inserts):
        call = node.call_expr
        call.function = MAP_MERGE
        if len(call.args) == 3:
            # One entry given as key and value: merge a map of that entry alone.
            entry = _expression()
            entry.id = next_id
            single = entry.struct_expr.entries.add(id=next_id + 1)
            single.map_key.CopyFrom(call.args[1])
            single.value.CopyFrom(call.args[2])
            del call.args[1:]
            call.args.append(entry)
            next_id += 2
    wrapper.value = checked.SerializeToString()
    return bytes(wrapper.SerializeToString())


def _uses(node: Any, *, shadowed: bool) -> Iterator[str | None]:
    """Yield a name for each use of `secret`; None for a use without a name."""
    name = None if shadowed else _named(node)
    if name is not None:
        yield name
        return
    kind = node.WhichOneof("kind")
    if kind == "ident_expr":
        if not shadowed and node.ident_expr.name == SECRET:
            yield None
        return
    if kind == "comprehension_expr":
        loop = node.comprehension_expr
        yield from _uses(loop.iter_range, shadowed=shadowed)
        yield from _uses(loop.accu_init, shadowed=shadowed)
        inner = shadowed or SECRET in (loop.iter_var, loop.iter_var2)
        for part in (loop.loop_condition, loop.loop_step, loop.result):
            yield from _uses(part, shadowed=inner)
        return
    for child in _children(node):
        yield from _uses(child, shadowed=shadowed)


def _named(node: Any) -> str | None:
    """Return `x` for `secret.x`, `secret["x"]`, `secret.?x`, `"x" in secret`."""
    kind = node.WhichOneof("kind")
    if kind == "select_expr" and _is_secret(node.select_expr.operand):
        return str(node.select_expr.field)
    if kind != "call_expr" or len(node.call_expr.args) != 2:
        return None
    first, second = node.call_expr.args
    if node.call_expr.function == "@in":
        first, second = second, first
    elif node.call_expr.function not in _INDEXING:
        return None
    if not _is_secret(first) or second.WhichOneof("kind") != "const_expr":
        return None
    return str(second.const_expr.string_value)


def _is_secret(node: Any) -> bool:
    return bool(
        node.WhichOneof("kind") == "ident_expr" and node.ident_expr.name == SECRET
    )


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    for child in _children(node):
        yield from _nodes(child)


def _children(node: Any) -> list[Any]:
    match node.WhichOneof("kind"):
        case "select_expr":
            return [node.select_expr.operand]
        case "call_expr":
            call = node.call_expr
            target = [call.target] if call.HasField("target") else []
            return [*target, *call.args]
        case "list_expr":
            return list(node.list_expr.elements)
        case "struct_expr":
            entries = node.struct_expr.entries
            keys = [e.map_key for e in entries if e.HasField("map_key")]
            return [*keys, *(entry.value for entry in entries)]
        case "comprehension_expr":
            loop = node.comprehension_expr
            return [
                loop.iter_range,
                loop.accu_init,
                loop.loop_condition,
                loop.loop_step,
                loop.result,
            ]
        case _:
            return []


def _checked(serialized: bytes) -> tuple[Any, Any]:
    """Return the engine's envelope, and the tree in it."""
    wrapper = _ENVELOPE.FromString(serialized)
    return wrapper, _CHECKED.FromString(wrapper.value)


# Field numbers of cel/expr/syntax.proto and checked.proto. "*" repeats a field; a map
# is its entries.
_TYPES: dict[str, dict[str, tuple[int, str]]] = {
    "Envelope": {"type_url": (1, "string"), "value": (2, "bytes")},
    "Checked": {"reference_map": (2, "References*"), "expr": (4, "Expr")},
    "References": {"key": (1, "int64"), "value": (2, "Reference")},
    "Reference": {"overload_id": (3, "string*")},
    "Constant": {"string_value": (6, "string")},
    "Ident": {"name": (1, "string")},
    "Select": {"operand": (1, "Expr"), "field": (2, "string")},
    "Call": {"target": (1, "Expr"), "function": (2, "string"), "args": (3, "Expr*")},
    "List": {"elements": (1, "Expr*")},
    "Entry": {"id": (1, "int64"), "map_key": (3, "Expr"), "value": (4, "Expr")},
    "Struct": {"entries": (2, "Entry*")},
    "Comprehension": {
        "iter_var": (1, "string"),
        "iter_range": (2, "Expr"),
        "accu_init": (4, "Expr"),
        "loop_condition": (5, "Expr"),
        "loop_step": (6, "Expr"),
        "result": (7, "Expr"),
        "iter_var2": (8, "string"),
    },
    "Expr": {
        "id": (2, "int64"),
        "const_expr": (3, "Constant"),
        "ident_expr": (4, "Ident"),
        "select_expr": (5, "Select"),
        "call_expr": (6, "Call"),
        "list_expr": (7, "List"),
        "struct_expr": (8, "Struct"),
        "comprehension_expr": (9, "Comprehension"),
    },
}


def _classes() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(
        name="aso_syntax.proto", package=_PACKAGE, syntax="proto3"
    )
    scalars = {"string": 9, "bytes": 12, "int64": 3}
    for name, fields in _TYPES.items():
        message = file.message_type.add(name=name)
        for field_name, (number, type_) in fields.items():
            plain = type_.removesuffix("*")
            field = message.field.add(
                name=field_name, number=number, label=3 if type_ != plain else 1
            )
            field.type = scalars.get(plain, 11)
            if field.type == 11:
                field.type_name = f".{_PACKAGE}.{plain}"
            if name == "Expr" and field_name != "id":
                field.oneof_index = 0
        if name == "Expr":
            message.oneof_decl.add(name="kind")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(
            pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")
        )
        for name in ("Envelope", "Checked", "Expr")
    }


_CLASSES = _classes()
_ENVELOPE, _CHECKED = _CLASSES["Envelope"], _CLASSES["Checked"]
_expression = _CLASSES["Expr"]
