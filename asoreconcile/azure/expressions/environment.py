"""The CEL environment of expressions: ASO's selection of libraries and functions.

Standard functions and macros, strings version 3, optionals, two-variable
comprehensions, comparison across numeric types, UTC, and `aso.parseResourceId`.
"""

from typing import Any

from cel_expr_python import cel

from asoreconcile.azure.expressions import resource_ids
from asoreconcile.azure.expressions.proto_schema import PACKAGE, SELF, SelfType
from asoreconcile.azure.expressions.syntax import MAP_MERGE, MAP_MERGE_OVERLOAD, SECRET

_NUMBERS = {"int": "int64", "uint": "uint64", "double": "double"}
_COMPARED = ("bool", *_NUMBERS, "string", "bytes", "timestamp", "duration")
_COMPARISONS = {
    "_<_": "less",
    "_<=_": "less_equals",
    "_>_": "greater",
    "_>=_": "greater_equals",
}


def environment(self_type: SelfType) -> Any:
    """Return the environment in which expressions for one kind version are compiled and
    run.
    """
    types = cel.Type
    return cel.NewEnv(
        self_type.pool,
        config=cel.NewEnvConfigFromYaml(_CONFIG),
        variables={
            "self": types(SELF),
            SECRET: types.Map(types.STRING, types.STRING),
        },
        functions=[_parse_resource_id(self_type), _map_merge()],
    )


def _parse_resource_id(self_type: SelfType) -> Any:
    def parse(text: str) -> Any:
        made = self_type.resource_id()
        _describe(made, resource_ids.parse(text))
        return made

    return cel.FunctionDecl(
        "aso.parseResourceId",
        [
            cel.Overload(
                "aso_parse_resource_id_string",
                return_type=cel.Type(f"{PACKAGE}.ResourceID"),
                parameters=[cel.Type.STRING],
                impl=parse,
            )
        ],
    )


def _describe(made: Any, found: resource_ids.ResourceId) -> None:
    made.subscriptionId = found.subscription_id
    made.resourceGroupName = found.resource_group
    made.provider = found.provider
    made.location = found.location
    made.name = found.name
    made.resourceType.namespace, made.resourceType.type = found.type
    if found.parent is not None:
        _describe(made.parent, found.parent)


def _map_merge() -> Any:
    def merge(into: dict[Any, Any], entries: dict[Any, Any]) -> dict[Any, Any]:
        twice = into.keys() & entries.keys()
        if twice:
            raise ValueError("a key is given twice")
        return {**into, **entries}

    types = cel.Type
    return cel.FunctionDecl(
        MAP_MERGE,
        [
            cel.Overload(
                MAP_MERGE_OVERLOAD,
                return_type=types.MAP,
                parameters=[types.MAP, types.MAP],
                impl=merge,
            )
        ],
    )


def _comparisons() -> str:
    """Return declarations that add int < double and similar to the standard
    comparisons.

    The engine implements them; only its type checker does not know them.
    """
    lines = []
    for name, stem in _COMPARISONS.items():
        lines += [f'- name: "{name}"', "  overloads:"]
        lines += [_overload(f"{stem}_{_NUMBERS.get(a, a)}", a, a) for a in _COMPARED]
        lines += [
            _overload(f"{stem}_{_NUMBERS[a]}_{_NUMBERS[b]}", a, b)
            for a in _NUMBERS
            for b in _NUMBERS
            if a != b
        ]
    return "\n".join(lines)


def _overload(id_: str, left: str, right: str) -> str:
    return (
        f"  - id: {id_}\n"
        f"    args: [{{type_name: {left}}}, {{type_name: {right}}}]\n"
        "    return: {type_name: bool}"
    )


_EXCLUDED = "\n".join(f'  - name: "{name}"' for name in _COMPARISONS)
_CONFIG = f"""
extensions:
- name: optional
- name: strings
  version: 3
- name: two-var-comprehensions
stdlib:
  exclude_functions:
{_EXCLUDED}
functions:
{_comparisons()}
"""
