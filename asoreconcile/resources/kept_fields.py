"""Keeps facts about a decoded object that its instance cannot hold.

These are the fields that the class does not define, and the names of fields that were
present but empty, or absent although they have a default. They are kept outside the
instance, by its identity and for its lifetime, as classes with slots accept no
attributes. Most nested objects have nothing to keep, and cost nothing. `copy`,
`deepcopy`, `pickle` and pydantic's `model_copy` take kept fields along; constructors,
and so `attrs.evolve`, do not. Safe from any thread.
"""

import copyreg
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import wraps
from typing import Any
from weakref import ref

import attrs

_NONE: frozenset[str] = frozenset()


@attrs.frozen
class KeptFields:
    """The fields of an object that its class does not name.

    unknown: undefined fields by their JSON names. stated: names of fields that were
    present with an empty value. absent: names of fields that were absent and got their
    default. document: the document as it was read, if the instance is a whole object.
    """

    unknown: dict[str, Any]
    stated: AbstractSet[str] = _NONE
    absent: AbstractSet[str] = _NONE
    document: dict[str, Any] | None = None


NOTHING_KEPT = KeptFields({})
_KEPT: dict[int, tuple["ref[Any]", KeptFields]] = {}
_pop = _KEPT.pop  # modules are emptied before the last instances go


def keep(instance: object, kept: KeptFields) -> None:
    """Keep fields for the lifetime of an instance. Raises TypeError if the instance
    does not support weak references.
    """
    number = id(instance)

    def drop(_: "ref[Any]", pop: Callable[..., Any] = _pop) -> None:
        pop(number, None)

    # The weak reference calls back before the id can be reused.
    _KEPT[number] = (ref(instance, drop), kept)


def kept_of(instance: object) -> KeptFields:
    """Return the kept fields of an instance."""
    found = _KEPT.get(id(instance))
    if found is None or found[0]() is not instance:
        return NOTHING_KEPT
    return found[1]


def keep_in_copies(kind: type) -> None:
    """Make copies and pickles of a class's instances keep the same fields."""
    copyreg.pickle(kind, _reduced)
    for name in ("__copy__", "__deepcopy__"):  # pydantic's, or the class's own
        made = getattr(kind, name, None)
        if made is not None and not hasattr(made, "keeps"):
            setattr(kind, name, _keeping(made))


def _keeping(copied: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method that copies an instance."""

    @wraps(copied)
    def method(instance: Any, *arguments: Any, **options: Any) -> Any:
        made = copied(instance, *arguments, **options)
        kept = kept_of(instance)
        if kept is not NOTHING_KEPT and type(made) is type(instance):
            keep(made, kept)
        return made

    method.keeps = True  # type: ignore[attr-defined]  # so that it is wrapped once
    return method


def _reduced(instance: Any) -> tuple[Any, ...]:
    """Return the result of `__reduce_ex__`, with the kept fields of the instance."""
    make, arguments, *rest = instance.__reduce_ex__(4)
    kept = kept_of(instance)
    if kept is NOTHING_KEPT:
        return (make, arguments, *rest)
    return (_restored, (kept, make, arguments), *rest)


def _restored(
    kept: KeptFields, make: Callable[..., Any], arguments: tuple[Any, ...]
) -> Any:
    made = make(*arguments)
    keep(made, kept)
    keep_in_copies(type(made))  # another process may copy it before it decodes one
    return made
