"""Values that Azure fills in where none was sent, and states that only it can write.

`defaults.json` holds, by type, the properties that every recorded read of at least two
resources showed alike and that nobody had sent.
"""

from functools import cache
from importlib import resources

import orjson

from asoreconcile.objects import JsonObject, copy_json


def add_defaults(type_: str, body: JsonObject) -> None:
    """Fill in a resource's properties, in place; what is there stays as it is.

    type_: `namespace/type` in lower case.
    """
    found = _table().get(type_.removeprefix("microsoft."))
    if found is not None:
        _merge(body.setdefault("properties", {}), found)


@cache
def _table() -> dict[str, JsonObject]:
    text = resources.files("asoreconcile.testing.arm").joinpath("defaults.json")
    table: dict[str, JsonObject] = orjson.loads(text.read_bytes())
    return table


def _merge(target: JsonObject, more: JsonObject) -> None:
    for name, value in more.items():
        if name not in target:
            target[name] = copy_json(value)
        elif isinstance(target[name], dict) and isinstance(value, dict):
            _merge(target[name], value)
