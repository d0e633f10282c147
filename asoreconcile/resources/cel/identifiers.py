"""Names of fields as identifiers of expressions. Pure."""

import re

_SEQUENCES = {
    "__": "__underscores__",
    ".": "__dot__",
    "-": "__dash__",
    "/": "__slash__",
}
_PARTS = re.compile(r"__|[.\-/]")
_WORDS = """
true false null in as break const continue else for function if import let loop
package namespace return var void while
"""
_RESERVED = frozenset(_WORDS.split())


def escaped(name: str) -> str:
    """Return the identifier for a field's name in rules: `a-b` is `a__dash__b`."""
    if name in _RESERVED:
        return f"__{name}__"
    return _PARTS.sub(lambda found: _SEQUENCES[found[0]], name)
