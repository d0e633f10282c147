"""Generate controllers/kinds/ from an extracted catalogue, and the simulator's types.

    hack/kinds [SOURCE]

SOURCE is a folder of files in the form `asoreconcile.catalogue/v1`. Without it, the
folder `catalogue` is read from the folder in ASORECONCILE_DATA, else from
../shared/data. Azure's published types and recorded traffic come from there, too: they
make asoreconcile/testing/arm/types. Kinds of newer releases of ASO than the source's
are in hack/newer-kinds, in the same form. The output depends only on these folders:
running the command twice changes nothing.
"""

import os
import sys
from pathlib import Path

from azure_types import write_types
from kinds_source import convert

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    data = Path(os.environ.get("ASORECONCILE_DATA") or ROOT.parent / "shared" / "data")
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else data / "catalogue"
    if not any(source.glob("*.json")):
        print(f"hack/kinds: no catalogue files in {source}", file=sys.stderr)
        return 2
    target = ROOT / "controllers" / "kinds"
    newer = ROOT / "hack" / "newer-kinds"
    made = convert(source, target, newer=newer)
    size = sum(path.stat().st_size for path in target.rglob("*.json"))
    print(f"{made.groups} groups, {made.kinds} kinds, {made.versions} versions:")
    print(f"{size / 1e6:.2f} MB in {target}")
    types = ROOT / "asoreconcile" / "testing" / "arm" / "types"
    print(f"{write_types(data, types, newer=newer) / 1e6:.2f} MB in {types}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
