"""Print the tests that run functions of a file.

    hack/tests-of FILE...
    hack/tests-of --record [ARGUMENT...]

--record runs the tests, all or those that the arguments choose, and notes the lines
that each of them runs: about twice the time of `hack/test`. The notes are kept in
`dist/ci`.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from gate import contexts

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "dist" / "ci" / "contexts"


def record(arguments: list[str]) -> int:
    """Run tests and keep their contexts. Returns the exit code of pytest."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    environment = {
        **os.environ,
        contexts.FOLDER_VARIABLE: str(FOLDER),
        "PYTHONPATH": str(ROOT / "hack"),
    }
    program = ROOT / "hack" / "test"
    done = subprocess.run(
        [program, "-p", "gate.contexts", *arguments],
        cwd=ROOT,
        env=environment,
        check=False,
    )
    contexts.combine(FOLDER)
    return done.returncode


def main() -> int:
    """Read the arguments, and record or answer."""
    match sys.argv[1:]:
        case ["--record", *arguments]:
            return record(arguments)
        case [] | ["-h" | "--help"]:
            print(__doc__)
            return 2
        case files:
            try:
                for file in files:
                    print("\n".join(contexts.tests_of(FOLDER, Path(file))))
            except FileNotFoundError as error:
                print(f"hack/tests-of: there is no {error}", file=sys.stderr)
                print("run hack/tests-of --record first", file=sys.stderr)
                return 2
            return 0
    raise AssertionError


if __name__ == "__main__":
    sys.exit(main())
