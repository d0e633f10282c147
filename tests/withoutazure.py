"""Runs a program in a process that refuses to import Azure's packages.

python withoutazure.py PROGRAM [ARGUMENT...]
"""

import runpy
import sys

REFUSED = ("azure", "msal", "msal_extensions")


class NoAzure:
    """A finder that comes first and only refuses certain packages."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] in REFUSED:
            raise ImportError(f"{name} is refused here")


if __name__ == "__main__":
    sys.meta_path.insert(0, NoAzure)
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
