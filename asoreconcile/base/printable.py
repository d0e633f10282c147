"""Escapes characters of foreign text that would act on a terminal. Pure.

A name, an annotation or an error of a server may hold line breaks, escape sequences,
and marks that reverse the order of letters: with them a text could pretend to be
several lines, or other words. All text that leaves the process for people to read (log,
events, conditions, terminal) passes here.
"""

import re
import unicodedata
from collections.abc import Sequence

# Controls, format characters (direction marks, joiners, invisible tags), surrogates,
# and the line and paragraph separators. Spaces of any width only look like spaces.
_ACTING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_NAMED = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_BMP_END = 0xFFFF


def printable(text: str, *, keep: str = "") -> str:
    r"""Return the text on one line, with `\n` or `\u202e` for each character that acts
    instead of being shown.

    keep: characters that stay as they are.
    """
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() or one in keep else _shown(one) for one in text
    )


def listed(texts: Sequence[str], most: int = 20) -> str:
    """Return the first texts, and the number of the others."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return f"{', '.join(texts[:most])}{more}"


def printable_lines(text: str) -> str:
    """Return a text of several lines, in which all lines but the first are indented.

    So no line can look like a line of another text.
    """
    return "\n  ".join(map(printable, text.split("\n")))


def printable_json(text: str) -> str:
    r"""Return the JSON text with characters that act on a terminal escaped in JSON's
    way.

    The values stay the same, because such characters can occur only in strings.
    """
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() or one in "\n\t" else _json_shown(one) for one in text
    )


def acts(char: str) -> bool:
    """Return whether a character acts on a terminal instead of being shown."""
    return unicodedata.category(char) in _ACTING


def _shown(char: str) -> str:
    if not acts(char):
        return char
    code = ord(char)
    if char in _NAMED:
        return _NAMED[char]
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= _BMP_END else f"\\U{code:08x}"


def _json_shown(char: str) -> str:
    if not acts(char):
        return char
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return re.sub("(....)", r"\\u\1", units)
