"""Undoes the escapes of a text and keeps the original place of each character. Pure.

Percent-encoding, HTML entities and the backslashes of JSON and Python are each undone
once a round: a text that was escaped twice is plain after two rounds.
"""

import re
from collections.abc import Iterator

import attrs

_ROUNDS = 4
_ESCAPE = re.compile(
    r"(?:%[0-9a-fA-F]{2})+"
    r"|(?:\\[xX][0-9a-fA-F]{2})+"
    r"|\\U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4}"  # Python's, of eight digits
    r"|(?:\\[uU][0-9a-fA-F]{4})+"
    r"|&(?:\#[0-9]{1,7}|\#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});"
    r"|\\[^uUxX]",
    re.DOTALL,
)
_LONG = re.compile(r"\\U00[01][0-9a-fA-F]{5}")
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


@attrs.frozen
class View:
    """A text in one form, with the place of each character in the original.

    text: the text without escapes. starts: the offset of each character in the
    original, and one more for the end; None if nothing was escaped.
    """

    text: str
    starts: list[int] | None = None

    def span(self, begin: int, end: int) -> tuple[int, int]:
        """Return the part of the original that text[begin:end] stands for."""
        if self.starts is None:
            return begin, end
        return self.starts[begin], self.starts[end]


def views(text: str) -> Iterator[View]:
    """Yield the text itself, then with its escapes undone, round by round."""
    view = View(text)
    yield view
    for _ in range(_ROUNDS):
        if not _has_escapes(view.text):
            return
        further = _undone(view)
        if further is None:
            return
        view = further
        yield view


def plain(text: str) -> str:
    """Return the text with all its escapes undone."""
    *_, last = views(text)
    return last.text


def _has_escapes(text: str) -> bool:
    return "\\" in text or "%" in text or "&" in text


def _undone(view: View) -> View | None:
    text = view.text
    pieces: list[str] = []
    starts: list[int] = []
    at = 0
    for match in _ESCAPE.finditer(text):
        begin, end = match.span()
        pieces.append(text[at:begin])
        starts.extend(range(at, begin))
        for char, offset in _characters(match[0]):
            pieces.append(char)
            starts.append(begin + offset)
        at = end
    if not at:
        return None
    pieces.append(text[at:])
    starts.extend(range(at, len(text) + 1))
    if view.starts is not None:
        before = view.starts
        starts = [before[i] for i in starts]
    return View("".join(pieces), starts)


def _characters(escape: str) -> Iterator[tuple[str, int]]:
    """Yield the characters of an escape, each with its offset in the escape."""
    if escape[0] == "%":
        yield from _bytes(bytes.fromhex(escape.replace("%", "")), 3)
    elif escape[0] == "&":
        import html

        # An upper-casing gateway turns entities into capitals.
        text = html.unescape(escape)
        text = html.unescape(escape.lower()) if text == escape else text
        for char in text:
            yield char, 0
    elif escape[1] in "xX":
        yield from _bytes(bytes.fromhex(re.sub(r"\\[xX]", "", escape)), 4)
    elif _LONG.fullmatch(escape):
        yield bytes.fromhex(escape[2:]).decode("utf-32-be", "surrogatepass"), 0
    elif escape[1] in "uU":
        units = re.sub(r"\\[uU]", "", escape)
        offset = 0
        for char in bytes.fromhex(units).decode("utf-16-be", "surrogatepass"):
            yield char, offset
            offset += 6 if ord(char) <= 0xFFFF else 12
    else:
        yield _CONTROLS.get(escape[1].lower(), escape[1]), 0


def _bytes(data: bytes, width: int) -> Iterator[tuple[str, int]]:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")
        yield from ((char, i * width) for i, char in enumerate(text))
        return
    offset = 0
    for char in text:
        yield char, offset
        offset += len(char.encode()) * width
