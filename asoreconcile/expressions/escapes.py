"""Field names as expressions write them: `dash-field` is `dash__dash__field`.

CEL identifiers hold no dash, dot or slash, and four of its keywords cannot be names.
"""

_SEQUENCES = {
    "__": "__underscores__",
    ".": "__dot__",
    "-": "__dash__",
    "/": "__slash__",
}
# Only the words of CEL's own grammar; those it reserves for embedders are plain names.
_KEYWORDS = frozenset({"true", "false", "null", "in"})


def escaped(name: str) -> str:
    """The identifier that stands for a field's JSON name. Pure.

    Replaced from left to right, so that `a-__b` is `a__dash____underscores__b`.
    """
    if name in _KEYWORDS:
        return f"__{name}__"
    found = []
    at = 0
    while at < len(name):
        width = 2 if name.startswith("__", at) else 1
        part = name[at : at + width]
        found.append(_SEQUENCES.get(part, part))
        at += width
    return "".join(found)
