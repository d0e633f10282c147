"""Find extension sets of other packages through entry points.

Loading a set runs its code, so only sets that the operator's settings name are loaded.
"""

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

from asoreconcile.azure.middleware.extension_set import (
    BUILT_IN_ORDER,
    ExtensionError,
    ExtensionSet,
)

GROUP = "asoreconcile.extensions"


def load_sets(names: Iterable[str]) -> tuple[ExtensionSet, ...]:
    """Return the named sets, in the order of the names; nothing else is imported.

    An entry point of the group names an `ExtensionSet`, or a function without arguments
    that returns one. Raises ExtensionError if a name is not installed, is installed by
    two packages, cannot be imported, or names something else.
    """
    installed = entry_points(group=GROUP)
    return tuple(_load(name, list(installed.select(name=name))) for name in names)


def _load(name: str, found: list[EntryPoint]) -> ExtensionSet:
    if not found:
        known = sorted({entry.name for entry in entry_points(group=GROUP)})
        raise ExtensionError(
            f"no installed package ships extensions named {name!r} (installed: "
            f"{', '.join(known) or 'none'})"
        )
    if len({entry.value for entry in found}) > 1:
        raise ExtensionError(f"more than one package ships extensions named {name!r}")
    entry = found[0]
    try:
        value = entry.load()
        loaded = value() if callable(value) else value
    except Exception as error:
        raise ExtensionError(
            f"extensions {name!r} ({entry.value}) do not load: {error}"
        ) from error
    if not isinstance(loaded, ExtensionSet):
        raise ExtensionError(
            f"extensions {name!r} ({entry.value}) are no ExtensionSet but a "
            f"{type(loaded).__name__}"
        )
    if loaded.order <= BUILT_IN_ORDER:
        raise ExtensionError(
            f"extension set {loaded.name!r} has order {loaded.order}: orders up to "
            f"{BUILT_IN_ORDER} are for the built-in sets"
        )
    return loaded
