"""Compare the project's requests with recorded PUTs.

    hack/golden [DIR]

DIR holds golden pairs, one JSON file each: a custom resource, the objects that it
refers to, and the recorded PUT. Without DIR, the folder `golden` is read from the
folder in ASORECONCILE_DATA, else from ../shared/data; recordings are read from the
folder next to it. Prints every difference in path, api-version and body. Exit code 1 if
there is one, 2 without pairs. A pair that cannot be compared without Azure or a cluster
is counted as such.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from goldenpairs import (
    LookupNeededError,
    differences,
    read_pairs,
    recorded_answers,
    request_of,
)

from asoreconcile.base.errors import AsoreconcileError

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    data = Path(os.environ.get("ASORECONCILE_DATA") or ROOT.parent / "shared" / "data")
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else data / "golden"
    pairs = list(read_pairs(folder))
    if not pairs:
        print(f"hack/golden: no golden pairs in {folder}", file=sys.stderr)
        return 2
    beside = sorted(folder.resolve().parent.glob("recordings*.tar.xz"))
    answers: dict[str, dict[str, Any]] = {}
    for archive in beside or sorted(data.glob("recordings*.tar.xz")):
        answers |= recorded_answers(pairs, archive)
    failed = unknown = 0
    began = time.perf_counter()
    for pair in pairs:
        try:
            wrong = differences(pair, request_of(pair, answers.get(pair.name)))
        except LookupNeededError as error:
            print(f"{pair.name}: {error}")
            unknown += 1
            continue
        except AsoreconcileError as error:
            wrong = [str(error)]
        for text in wrong:
            print(f"{pair.name}: {text}")
        failed += bool(wrong)
    seconds = time.perf_counter() - began
    compared = len(pairs) - unknown
    print(f"{compared} requests rendered and compared in {seconds:.2f} s")
    needing = f", {unknown} in need of a lookup" if unknown else ""
    print(f"{compared - failed} passed, {failed} failed{needing}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
