"""Values that Azure fills in if none was sent, and states that only Azure can write.

`defaults.json` holds, by type, the properties that have the same value in every
recorded read of at least two resources, and that no client had sent.
"""

from functools import cache
from importlib import resources

import orjson

from asoreconcile.base.objects import JsonObject, copy_json


def add_defaults(type_: str, body: JsonObject) -> None:
    """Fill in a resource's properties, in place. Existing properties stay as they are.

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
