"""The parts of a write that ARM itself checks: the members of a body, and the name."""

import re
from typing import Any

from asoreconcile.base.objects import JsonObject, dig
from asoreconcile.testing.arm.address import ArmAddress
from asoreconcile.testing.arm.refusals import RefusedError
from asoreconcile.testing.arm.resources import EMBEDDED

_GROUP_NAME = re.compile(r"[-\w().]{0,89}[-\w()]")
# Colons are forbidden, too, but some keys of App Configuration contain them (I3). Other
# special characters of those keys are encoded in the name itself.
_KEYS = "microsoft.appconfiguration/configurationstores/keyvalues"
_NAME = re.compile(r"[^<>%&\\?/\x00-\x1f\x7f]{1,260}")


def check_name_form(address: ArmAddress) -> None:
    """Check the form of the name (I3). Raises RefusedError 400."""
    if address.is_group:
        if not _GROUP_NAME.fullmatch(address.name):
            raise RefusedError(
                400,
                "InvalidParameter",
                f"The provided resource group name '{address.name}' is not valid.",
            )
    elif address.type != _KEYS and not _NAME.fullmatch(address.name):
        raise RefusedError(
            400,
            "InvalidResourceName",
            f"Resource name {address.name[:80]!r} is invalid: it has at most 260 "
            "characters, none of them <>%&\\?/ or a control character.",
        )


def check_shape(address: ArmAddress, body: JsonObject) -> None:
    """Check the types of the members that all bodies have. Raises RefusedError 400."""
    _need(body, "properties", dict)
    _need(body, "identity", dict)
    _need(body, "location", str)
    _need(body, "tags", dict)
    for name, value in (body.get("tags") or {}).items():
        if not isinstance(value, str):
            raise _wrong(f"tags.{name}")
    for name in EMBEDDED.get(address.type, ()):
        items = dig(body, f"properties.{name}")
        if items is not None and not _is_list_of_named(items):
            raise _wrong(f"properties.{name}")


def _need(body: JsonObject, name: str, type_: type[Any]) -> None:
    if body.get(name) is not None and not isinstance(body[name], type_):
        raise _wrong(name)


def _is_list_of_named(items: Any) -> bool:
    return isinstance(items, list) and all(
        isinstance(item, dict) and isinstance(item.get("name"), str) and item["name"]
        for item in items
    )


def _wrong(path: str) -> RefusedError:
    return RefusedError(
        400,
        "InvalidRequestContent",
        "The request content was invalid and could not be deserialized: 'Error "
        f"converting value. Path '{path}'.'.",
    )
