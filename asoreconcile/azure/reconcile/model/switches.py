"""Annotations that switch something on, for an object or a whole Namespace. Pure.

The switches hold the operator back, so any value but `false` switches on: if `true` is
misspelt, no request may be sent. An object's `false` does not lift its Namespace's
value.
"""

from collections.abc import Mapping
from enum import Enum


class Switch(Enum):
    """The values of a switch."""

    ON = "true"
    OFF = "false"


def is_on(annotations: Mapping[str, str], name: str) -> bool:
    """Return whether annotations of an object or a Namespace switch something on."""
    value = annotations.get(name)
    return bool(value) and value != Switch.OFF.value


def switched_by(own: Mapping[str, str], inherited: Mapping[str, str], name: str) -> str:
    """Return the annotation that switches something on for an object, in words: its own
    or its Namespace's; "" if it is not switched on.
    """
    if is_on(own, name):
        return f"the annotation {name}"
    return f"the annotation {name} on the Namespace" if is_on(inherited, name) else ""
