"""Run a short suite with the newest or the oldest dependencies that are allowed.

    hack/versions newest|oldest [ARGUMENT...]

ARGUMENTs go to pytest, instead of the short suite. Makes `.venv-newest` or
`.venv-oldest`, and needs a package index.
"""

import sys

from gate import versions

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ("newest", "oldest"):
        sys.exit(__doc__)
    sys.exit(versions.main(sys.argv[1], sys.argv[2:]))
