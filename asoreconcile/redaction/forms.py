"""The forms in which a secret is searched, and the shortest pieces of it that count.
Pure.

Texts and secrets are compared in one canonical spelling: lower case, with the two
alphabets of base64 taken for the same.
"""

import base64
import re
from collections.abc import Iterator

import attrs

from asoreconcile.redaction.views import plain

GRAM = 5
"""Length of the pieces that patterns are indexed by."""

SHORT = 8
"""Values below this length are looked for as a whole alone."""

_MAX_VALUE = 1 << 16
# The characters of a longer secret that must be present: (below this length, so many).
_FLOORS = ((64, 8), (256, 16))
_LONGEST_FLOOR = 32
_SHORTEST_FLOOR = 6
# A piece of letters alone may be words: `password` of `password-71ac`.
_WORD = 12
_DISTINCT = 4

_SPELLING = str.maketrans({"-": "+", "_": "/"})
_SEPARATORS = re.compile(r"[+/.:\s]")
# In `Endpoint=https://host/;AccountKey=...` and `https://host/?sig=...` the names and
# hosts are not secret, and they occur in many texts.
_NAMED_PART = re.compile(
    r"(?i)(?:key|password|pwd|secret|token|sig|signature|code)=([^;&\s]{8,})"
)
_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://(?:[^/?#@]*@)?[^/?#@]+")
# Texts name these in full or by their common parts: only the whole is a match.
_NAME = re.compile(
    r"[a-zA-Z0-9-]{1,63}(?:\.[a-zA-Z0-9-]{1,63})+(?::\d+)?|/subscriptions/.*"
)


@attrs.frozen(eq=False)
class Pattern:
    """A secret in one of the forms in which a text may quote it.

    text: text in canonical spelling. floor: the fewest characters that count as a
    piece. is_encoded: whether it is base64, in which a character at either end may be
    only partly the secret's.
    """

    text: str = attrs.field(repr=False)
    floor: int
    is_encoded: bool = False

    @property
    def stride(self) -> int:
        """The distance between indexed pieces, such that each part of `floor`
        characters contains one.
        """
        return max(1, self.floor - GRAM + 1)

    def counts(self, begin: int, end: int) -> bool:
        """Return whether text[begin:end] is enough of the secret to give something
        away.
        """
        length = end - begin
        if length == len(self.text):
            return True
        if length < self.floor:
            return False
        piece = self.text[begin:end]
        letters = _SEPARATORS.sub("", piece)
        needed = min(_WORD, 2 * len(self.text) // 3 + 1)
        if letters.isascii() and letters.isalpha() and len(letters) < needed:
            return False
        return len(set(piece)) >= _DISTINCT


def spelled(text: str) -> str:
    """Return a text in the canonical spelling, character for character."""
    return lowered(text).translate(_SPELLING)


def lowered(text: str) -> str:
    """Return a text in lower case, character for character."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def patterns_of(value: str) -> list[Pattern]:
    """Return the patterns that find a value of SHORT characters or more."""
    found: dict[str, Pattern] = {}
    for part in _parts(value[:_MAX_VALUE]):
        as_whole = bool(_NAME.fullmatch(part))
        for form in (part, plain(part), part.replace(" ", "+")):
            for text in (form, *encoded(form)):
                known = spelled(text)
                if len(known) >= SHORT:
                    floor = len(known) if as_whole else _floor(len(known))
                    pattern = Pattern(known, floor, is_encoded=text is not form)
                    found.setdefault(known, pattern)
    return list(found.values())


def short_forms(value: str) -> list[str]:
    """Return the lower-case forms that find a value below SHORT characters."""
    forms = [value, *encoded(value)] if len(value) > 2 else [value]
    if 2 < len(value) < GRAM:
        # Inside other base64 so little cannot be told from chance; alone it can.
        forms = [value, base64.b64encode(value.encode()).decode()]
    forms += [form.replace("+", "-").replace("/", "_") for form in forms]
    return list(dict.fromkeys(lowered(form) for form in forms))


def encoded(value: str) -> Iterator[str]:
    """Return the base64 of a value at each alignment, without the characters that
    depend on its neighbours.
    """
    data = value.encode("utf-8", "surrogatepass")
    for before, shared in ((0, 0), (1, 2), (2, 3)):
        text = base64.b64encode(bytes(before) + data).decode()
        yield text[shared : 8 * (before + len(data)) // 6]


def _parts(value: str) -> list[str]:
    """Return the secret parts of a value."""
    if named := _NAMED_PART.findall(value):
        return list(named)
    address = _ADDRESS.match(value)
    if address is None:
        return [value]
    rest = value[address.end() :]
    if "@" in address[0] or len(rest) < SHORT:
        return [value]
    return [rest]


def _floor(length: int) -> int:
    floor = next((floor for below, floor in _FLOORS if length < below), _LONGEST_FLOOR)
    return max(_SHORTEST_FLOOR, min(floor, length // 2))
