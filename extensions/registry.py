"""Finds the project's extension sets: rows of `cases.json`, and modules of this
package.

A folder is a group, a file is a kind. Files with a leading underscore are left out:
they contain code that several kinds share.
"""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.resources import files
from pkgutil import iter_modules
from types import ModuleType

from asoreconcile.azure import extensions
from asoreconcile.azure.extensions.cases import sets_in
from asoreconcile.azure.middleware.extension_set import ExtensionError, ExtensionSet


@cache
def builtin_sets() -> tuple[ExtensionSet, ...]:
    """Return all sets, made on first use; `Extensions.compose` sorts them.

    Raises the errors of `sets_of`.
    """
    table = (files(extensions) / "cases.json").read_bytes()
    return (*sets_in(table), *sets_of(extensions))


def sets_of(package: ModuleType) -> tuple[ExtensionSet, ...]:
    """Return the `EXTENSIONS` of each module in the package's folders, sorted by module
    name.

    Imports all modules, also from zip archives. Raises ExtensionError naming every
    module without a set, and any error of an import.
    """
    found = []
    without = []
    for name in _module_names(package):
        one = getattr(import_module(name), "EXTENSIONS", None)
        if isinstance(one, ExtensionSet):
            found.append(one)
        else:
            without.append(name)
    if without:
        raise ExtensionError(
            f"no ExtensionSet named EXTENSIONS in {', '.join(without)}: make one, or "
            "begin the file's name with an underscore if it holds what others share"
        )
    return tuple(found)


def _module_names(package: ModuleType) -> Iterator[str]:
    for group, is_group in _entries(package):
        if is_group:
            yield from (kind for kind, _ in _entries(import_module(group)))


def _entries(package: ModuleType) -> list[tuple[str, bool]]:
    """Yield the full name of each public module in a package, and whether it is a
    package.
    """
    return sorted(
        (f"{package.__name__}.{one.name}", one.ispkg)
        for one in iter_modules(package.__path__)
        if not one.name.startswith("_")
    )
