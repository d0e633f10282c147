"""For hack/docs: makes a list of the parameters that a docstring describes.

Our docstrings have lines such as `name: description`, or several names with commas
between them. Other lines continue the item before.
"""

import re
from typing import Any

import griffe

_ID = r"[A-Z]{1,2}-?\d+(?:\.\d+)?"
_IDS = rf"{_ID}(?:\s*(?:,|and|-|to)\s*{_ID})*"
# A sentence, a bracket or an addition that names the rules behind a function: they are
# for contributors alone.
_RULES = re.compile(
    rf"\s*\((?:{_IDS})\)|\s*\b(?:Rules?|Sources?):\s+{_IDS}\.(?=\s|$)"
    rf"|: {_IDS}(?=\.)|(?<=\.)\s+{_IDS}\.(?=\s|$)"
)
_ITEM = re.compile(r"^(\w+(?:, \w+)*): (?=\S)")


class Parameters(griffe.Extension):
    """A griffe extension that changes the docstrings of functions and classes."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Make the list of a function's parameters."""
        listed(func.docstring, {parameter.name for parameter in func.parameters})

    def on_attribute(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Take the names of rules out of the docstring of a value."""
        listed(attr.docstring, set())

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Make the list of a class's fields."""
        listed(cls.docstring, set(cls.members))


def listed(docstring: griffe.Docstring | None, names: set[str]) -> None:
    """Change a docstring in place."""
    if docstring is not None:
        docstring.value = as_list(_RULES.sub("", docstring.value), names)


def as_list(text: str, names: set[str]) -> str:
    """Return the text with an item for each line that begins with one of the names."""
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
            # This sentence is about all parameters, so it does not belong to the last
            # item.
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
