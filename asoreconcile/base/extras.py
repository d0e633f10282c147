"""The optional dependencies (extras) of parts of the package.

`pip install CLONE` installs what the library needs, from a clone of its repository, as
no package index has it. Extras are installed by name, as in
`pip install 'CLONE[azure]'`; a part that needs one checks for it on import.
"""

import json
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from urllib.parse import unquote, urlsplit

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "auth-provider": ("kubernetes",),
    "azure": (
        *("azure.core", "azure.identity", "certifi", "requests"),
        *("pg8000", "pymysql", "pytds", "OpenSSL"),
    ),
    "cel": ("cel_expr_python", "google.protobuf"),
    "cli": ("click", "rich"),
    "testing": ("pytest",),
    "tracing": ("opentelemetry",),
}
"""The third-party modules of each extra in pyproject.toml."""


class MissingExtraError(ModuleNotFoundError):
    """A part of the package needs an extra that is not installed; says which."""


def require_extra(extra: str, part: str) -> None:
    """Check that an extra's modules are installed, without importing them. Takes about
    0.1 ms.

    part: the part that needs the extra; the message begins with it.
    Raises MissingExtraError with the name of a missing module; KeyError for an unknown
    extra.
    """
    for name in EXTRAS[extra]:
        if not _is_there(name):
            raise MissingExtraError(
                f"{part} needs {name}, which is not installed: {pip_command(extra)}",
                name=name,
            )


def pip_command(extra: str) -> str:
    """Return the command that installs an extra.

    It names the clone or wheel from which the package was installed, or `CLONE` if that
    is unknown.
    """
    return f"pip install '{_origin()}[{extra}]'"


def _origin() -> str:
    try:
        recorded = distribution("asoreconcile").read_text("direct_url.json")
        url = str(json.loads(recorded or "{}").get("url", ""))
    except (PackageNotFoundError, ValueError):
        return "CLONE"
    parts = urlsplit(url)
    return unquote(parts.path) if parts.scheme == "file" else url or "CLONE"


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # check the module's parent package
        return False
