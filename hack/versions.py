"""Run a short suite with the newest or the oldest dependencies that are allowed.

    hack/versions newest|oldest [ARGUMENT...]

ARGUMENTs go to pytest, instead of the short suite. Makes `.venv-newest` or
`.venv-oldest`, and needs a package index.
"""

import sys

from gate import versions

if __name__ == "__main__":
    match sys.argv[1:]:
        case ["newest" | "oldest" as which, *arguments]:
            sys.exit(versions.main(which, arguments))
    sys.exit(__doc__)
