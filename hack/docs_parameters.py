"""For hack/docs: what a docstring says of each parameter becomes an item of a list.

Our docstrings write `name: what it is` at the beginning of a line, or several names
with commas between them; a line that does not begin so goes on with the item before.
"""

import re
from typing import Any

import griffe

_ITEM = re.compile(r"^(\w+(?:, \w+)*): (?=\S)")


class Parameters(griffe.Extension):
    """Reads the docstrings of functions and classes."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Make the list of a function."""
        listed(func.docstring, {parameter.name for parameter in func.parameters})

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Make the list of a class whose fields are its parameters."""
        listed(cls.docstring, set(cls.members))


def listed(docstring: griffe.Docstring | None, names: set[str]) -> None:
    """Change a docstring in place."""
    if docstring is not None:
        docstring.value = as_list(docstring.value, names)


def as_list(text: str, names: set[str]) -> str:
    """The text with an item for each line that begins with one of the names."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        found = _ITEM.match(line)
        if found and names.intersection(found[1].split(", ")):
            lines += [
                *([] if inside else [""]),
                f"- `{found[1]}`: {line[found.end() :]}",
            ]
            inside = True
        elif inside and line.strip():
            # A sentence about all of it: no longer the item's.
            if re.match(r"(Raises|Returns|Rules?:|Blocking|Blocks)\b", line):
                lines.append("")
                inside = False
                lines.append(line)
            else:
                lines.append(f"  {line.strip()}")
        else:
            inside = inside and bool(line.strip())
            lines.append(line)
    return "\n".join(lines)
