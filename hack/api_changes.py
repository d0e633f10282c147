"""For hack/release: changes of the public surface since a tag. Needs griffe.

    python hack/api_changes.py TAG [ROOT]

Prints a line for each change that may break a program: a change of a name that
`asoreconcile` exported at that tag, or of a member of such a name. Nothing is imported.
"""

import sys
from pathlib import Path

import griffe

PACKAGE = "asoreconcile"


def changes(tag: str, root: Path) -> list[str]:
    """Return the changes as sorted lines, removals first."""
    old = griffe.load_git(PACKAGE, ref=tag, repo=root, search_paths=["."])
    # This must not load the package of the present folder.
    new = griffe.load(PACKAGE, search_paths=[str(root)], try_relative_path=False)
    before, after = exported(old), exported(new)
    gone = [f"{PACKAGE}.{name}: no longer exported" for name in before - after]
    homes = {_home(old, name): name for name in before & after}
    found = set()
    for breakage in griffe.find_breaking_changes(old, new):
        path = breakage.obj.canonical_path
        for home, name in homes.items():
            if path == home or path.startswith(f"{home}."):
                inside = f"{PACKAGE}.{name}{path.removeprefix(home)}"
                found.add(f"{inside}: {breakage.kind.value}{_what(breakage)}")
    return [*sorted(gone), *sorted(found)]


def exported(package: griffe.Object | griffe.Alias) -> set[str]:
    """Return the names in the package's `__all__`."""
    return {str(name) for name in package.exports or ()}


def _home(package: griffe.Object | griffe.Alias, name: str) -> str:
    """Return the module that defines a name, however the name is exported."""
    return str(package[name].canonical_path)


def _what(breakage: griffe.Breakage) -> str:
    """Return the parameter that changed, if the change is about one."""
    about = getattr(breakage, "old_value", None) or getattr(breakage, "new_value", None)
    return f": {about.name}" if isinstance(about, griffe.Parameter) else ""


if __name__ == "__main__":
    given = [*sys.argv[1:], str(Path(__file__).resolve().parent.parent)]
    for line in changes(given[0], Path(given[1])):
        print(line)
