"""Run recorded estates through the whole operator.

    hack/replay [-j N] [-v] [DIR|FILE...]

Each file is a replay set: manifests, and the recording of Azure from which they were
made. For each set, a manager is started between an API server and that recording.
Everything is applied, must become ready with the expected exports, and is deleted
again. Without arguments, `replay-sets` is read from the folder in ASORECONCILE_DATA,
else from ../shared/data; recordings are read from the folder above the sets, or from
the data folder. Prints a line for each set with its number of requests, then the total
and all errors. Exit code 1 if there are errors, 2 without sets.
"""

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from replaysets import RECORDINGS, Run, data_path, read_sets, replay

from asoreconcile.testing.replay import Asked, read_recordings


def main() -> int:
    arguments = _arguments()
    paths = arguments.paths or [data_path("replay-sets")]
    sets = {estate.name: estate for estate in read_sets(paths)}
    if not sets:
        where = ", ".join(map(str, paths))
        print(f"hack/replay: no replay sets in {where}", file=sys.stderr)
        return 2
    recordings: dict[str, Any] = {}
    for archive in _archives(paths):
        recordings |= read_recordings(archive, sets.keys() - recordings.keys())
    failed = 0

    def run(name: str) -> Run | None:
        if name not in recordings:
            return None
        with tempfile.TemporaryDirectory(prefix="asoreconcile-") as folder:
            return replay(sets[name], recordings[name], Path(folder))

    with ThreadPoolExecutor(arguments.jobs) as pool:
        for name, result in zip(sets, pool.map(run, sets), strict=True):
            problems = result.problems if result else ["its recording is not there"]
            failed += bool(problems)
            print(f"{name}: {_figures(result)}{'FAILED' if problems else 'passed'}")
            if result and (problems or arguments.verbose):
                print("\n".join(f"  {_request(asked)}" for asked in result.journal))
            for problem in problems:
                print("  " + problem.replace("\n", "\n    "), flush=True)
    print(f"{len(sets) - failed} passed, {failed} failed")
    return 1 if failed else 0


def _figures(result: Run | None) -> str:
    if result is None:
        return ""
    requests = ", ".join(f"{n} {method}" for method, n in result.requests.items())
    return f"{requests}, {result.seconds:.1f} s: "


def _request(asked: Asked) -> str:
    path = asked.path.rpartition("/resourcegroups")[2]
    return f"{asked.status} {asked.method} {path} {asked.api_version}"


def _archives(paths: list[Path]) -> list[Path]:
    """Return the sets' own recordings, followed by those of the data folder."""
    folders = [(p if p.is_dir() else p.parent).resolve().parent for p in paths]
    folders.append(data_path(RECORDINGS).parent)
    found = [a for f in folders for a in sorted(f.glob("recordings*.tar.xz"))]
    return list(dict.fromkeys(found))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path, metavar="DIR|FILE")
    parser.add_argument("-j", "--jobs", type=int, default=4, help="sets at a time")
    parser.add_argument("-v", "--verbose", action="store_true", help="its requests too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
