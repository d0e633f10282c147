"""The version of this release, read by the build, and used in User-Agent and labels."""

__version__ = "0.1.0"


def release_order(version: str) -> tuple[int, ...]:
    """Return a sort key for releases, such as `1.2.3`, oldest first."""
    return tuple(map(int, version.split(".")))
