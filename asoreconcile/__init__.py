"""A Kubernetes controller runtime for Python.

The public names are in `__init__.pyi`, for type checkers and for this module alike;
README.md in this folder explains them. Each is imported on first use, so a program
loads only the modules it uses.
"""

import re
from importlib import import_module
from typing import Any

# By the loader: a zip archive holds no file to open.
_STUB: bytes = __loader__.get_data(f"{__path__[0]}/__init__.pyi")
_HOME_OF = {
    name: home
    for home, names in re.findall(
        r"^from (\S+) import (\([^)]*\)|.*)", _STUB.decode(), re.MULTILINE
    )
    for name in re.findall(r"(\w+) as \1", names)
}
_MODULES = {name for name, home in _HOME_OF.items() if home == f"{__name__}.base"}

__all__ = sorted(_HOME_OF.keys() - _MODULES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _MODULES:
        value: Any = import_module(f"{home}.{name}")
    else:
        value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
