"""The Azure operator: everything in this package depends on Azure."""

from pathlib import Path


def _check_links(package: Path) -> None:
    """Raise ImportError if the checkout has no symbolic links.

    A package in a zip archive is not a folder, and needs no links.
    """
    linked = ("cmd", "controllers", "extensions")
    if package.is_dir() and not all((package / name).is_dir() for name in linked):
        message = (
            f"cmd, controllers and extensions in {package} must be symbolic links, and "
            "are not: clone the repository again with "
            "`git clone -c core.symlinks=true` (on Windows with Developer Mode on), or "
            "unpack its archive with a program that keeps symbolic links."
        )
        raise ImportError(message)


_check_links(Path(__file__).parent)
