"""Keeps what an instance cannot hold of the object it was decoded from.

These are fields that the class does not define, and which of its fields were present
though empty, or absent though they have a default. They are kept outside the instance,
by its identity and for its lifetime, as classes with slots accept no attributes. Most
objects have nothing to keep, and cost nothing. Safe from any thread.
"""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any
from weakref import ref

import attrs

_NONE: frozenset[str] = frozenset()


@attrs.frozen
class KeptFields:
    """unknown: undefined fields by their JSON names. stated: names of fields that were
    present with an empty value. absent: names of fields that were absent and got their
    default.
    """

    unknown: dict[str, Any]
    stated: AbstractSet[str] = _NONE
    absent: AbstractSet[str] = _NONE


NOTHING_KEPT = KeptFields({})
_KEPT: dict[int, tuple["ref[Any]", KeptFields]] = {}
_pop = _KEPT.pop  # modules are emptied before the last instances go


def keep(instance: object, kept: KeptFields) -> None:
    """Keep this for the lifetime of the instance. Raises TypeError if the instance does
    not support weak references.
    """
    number = id(instance)

    def drop(_: "ref[Any]", pop: Callable[..., Any] = _pop) -> None:
        pop(number, None)

    # The weak reference calls back before the id can be reused.
    _KEPT[number] = (ref(instance, drop), kept)


def kept_of(instance: object) -> KeptFields:
    """The kept fields of an instance."""
    found = _KEPT.get(id(instance))
    if found is None or found[0]() is not instance:
        return NOTHING_KEPT
    return found[1]
