"""Follow one object through the Azure reconciler, and count the modules on its way.

    hack/path [--list] [PATH...]

PATH is `put` (from the queue to a PUT that Azure accepted), `sync` (of an object in
order, by a read) or `deletion` (from the deletion to the end of the object). Without
PATH, all of them are followed. Each runs once, over the embedded API server and the
simulated Azure. A stay begins if the called function is in another module of
`asoreconcile/azure/reconcile` than the one before; a return is a stay in a module that
was left before. `--list` prints the stays with the functions called in each. The same
code always gives the same counts.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from reconcilepath import PATHS, follow


def main() -> int:
    names = [name for name in sys.argv[1:] if name != "--list"]
    if unknown := set(names) - PATHS.keys():
        print(f"hack/path: no path {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    print("path      calls  modules  stays  returns")
    for name in names or PATHS:
        course = follow(name)
        print(
            f"{name:<9}{course.calls:>6}{len(course.modules):>9}"
            f"{len(course.stays):>7}{course.returns:>9}"
        )
        if "--list" in sys.argv:
            for number, stay in enumerate(course.stays, 1):
                print(f"  {number:>3}. {stay.module:<32} {', '.join(stay.functions)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
