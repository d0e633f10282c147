"""What an instance of a class cannot hold of the object that it was read from.

Fields that the class does not name, and which of its fields were written out though
they are empty, or left out though they have a default. It is kept beside the instance,
by its identity and for as long as it lives: classes with slots take nothing in. Most
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
    """unknown: fields by their names in JSON. stated: names of fields whose value is
    empty and was there. absent: of fields that have their default as they were not.
    """

    unknown: dict[str, Any]
    stated: AbstractSet[str] = _NONE
    absent: AbstractSet[str] = _NONE


NOTHING_KEPT = KeptFields({})
_KEPT: dict[int, tuple["ref[Any]", KeptFields]] = {}
_pop = _KEPT.pop  # modules are emptied before the last instances go


def keep(instance: object, kept: KeptFields) -> None:
    """Keep this for as long as the instance lives. Raises TypeError for an instance
    that cannot be referred to weakly.
    """
    number = id(instance)

    def drop(_: "ref[Any]", pop: Callable[..., Any] = _pop) -> None:
        pop(number, None)

    # Before the memory is anybody else's: the reference calls back first.
    _KEPT[number] = (ref(instance, drop), kept)


def kept_of(instance: object) -> KeptFields:
    """What is kept of an instance."""
    found = _KEPT.get(id(instance))
    if found is None or found[0]() is not instance:
        return NOTHING_KEPT
    return found[1]
