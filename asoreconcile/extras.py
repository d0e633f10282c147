"""What the package needs for some of its parts alone, and says so when it is absent.

`pip install asoreconcile` brings what the library needs. The rest is asked for by name,
as `pip install 'asoreconcile[azure]'`; a part that needs it looks for it as it is
imported.
"""

from collections.abc import Mapping
from importlib.util import find_spec

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "auth-provider": ("kubernetes",),
    "azure": (
        *("azure.core", "azure.identity", "certifi", "requests"),
        *("pg8000", "pymysql", "pytds", "OpenSSL", "scramp"),
    ),
    "cel": ("cel_expr_python", "google.protobuf"),
    "cli": ("click", "rich"),
    "testing": ("pytest",),
    "tracing": ("opentelemetry",),
}
"""The modules of others that each extra of pyproject.toml brings."""


class MissingExtraError(ModuleNotFoundError):
    """A part of the package needs an extra that is not installed; says which."""


def need(extra: str, part: str) -> None:
    """Look for an extra's modules; none is imported. Some 0.1 ms.

    part: who needs it, as the message begins. Raises MissingExtraError, with the name
    of a module that there is not; KeyError for an extra that there is not.
    """
    for name in EXTRAS[extra]:
        if not _is_there(name):
            raise MissingExtraError(
                f"{part} needs {name}, which is not installed: "
                f"pip install 'asoreconcile[{extra}]'",
                name=name,
            )


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # of the package that it is in
        return False
