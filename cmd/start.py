"""The entry points of the installed commands: report a missing extra in one line.

The module imports only the library itself, so that a command can name the extra that is
missing.
"""

import sys

from asoreconcile.base import extras


def asoctl() -> None:
    """Run `asoctl`; exit with 1 if an extra that it needs is not installed."""
    _run("asoctl")


def asoreconcile() -> None:
    """Run `asoreconcile`; exit with 1 if an extra that it needs is not installed."""
    _run("asoreconcile")


def complete() -> None:
    """Print completions of the arguments of `kubectl aso`; kubectl calls this."""
    from asoreconcile.azure.cmd.asoctl import main
    from asoreconcile.azure.cmd.completion import complete_for_kubectl

    complete_for_kubectl(main)


def _run(name: str) -> None:
    try:
        extras.require_extra("cli", f"the command {name}")
        if name == "asoreconcile":
            from asoreconcile.azure.cmd.asoreconcile import main
        else:
            from asoreconcile.azure.cmd.asoctl import main
        main()
    except extras.MissingExtraError as error:
        sys.exit(f"{name}: {error}")
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("asoreconcile.testing"):
            raise
        sys.exit(f"{name}: this installation was made without the test servers")
