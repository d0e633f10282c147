"""What classes and fields say of themselves: docstrings, and the text below a field.

The text of a field is the first string in its `Annotated`, else the string that stands
below it in the source, where there is a source.
"""

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Sequence
from functools import cache
from typing import Any


def description_of(cls: type) -> str:
    """A class's own docstring, or "". Not the one that a library has made up."""
    text = vars(cls).get("__doc__") or ""
    if dataclasses.is_dataclass(cls) and text.startswith(f"{cls.__name__}("):
        return ""
    return inspect.cleandoc(text)


def field_description(cls: type, attribute: str, notes: Sequence[Any]) -> str:
    """What is said of a field, or ""."""
    stated = next((one for one in notes if isinstance(one, str)), None)
    if stated is not None:
        return inspect.cleandoc(stated)
    for base in cls.__mro__:
        if base is not object and (found := _below_fields(base).get(attribute)):
            return found
    return ""


@cache
def _below_fields(cls: type) -> dict[str, str]:
    """The strings below a class's fields, by the field."""
    try:
        source = textwrap.dedent(inspect.getsource(cls))
        (tree,) = ast.parse(source).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return {}  # no source, or none that can be read: made at run time, zipped
    if not isinstance(tree, ast.ClassDef):
        return {}
    found: dict[str, str] = {}
    for field, text in zip(tree.body, tree.body[1:], strict=False):
        match field, text:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str() as said)),
            ):
                found[name] = inspect.cleandoc(said)
    return found
