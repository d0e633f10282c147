"""Regroup long sums, such as a text that is built from many parts, to nest less deeply.

The engine allows 32 levels of nesting, and each + of `a + b + c + ...` is a level. In
pairs, `((a + b) + (c + d))`, the depth grows only by one with each doubling.
"""

import re
from collections.abc import Iterator

_LONG = 8  # shorter sums stay as they are
_MAX_DEPTH = 64  # the engine refuses far less
_TOKEN = re.compile(
    r"""
    (?P<text>
        (?:[rR][bB]?|[bB][rR])(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"\n]*"|'[^'\n]*')
      | [bB]?(?:\"{3}(?:\\.|.)*?\"{3}|'{3}(?:\\.|.)*?'{3}
          |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    )
  | (?P<blank>\s+|//[^\n]*)
  | (?P<word>[A-Za-z_]\w*|0[xX][0-9a-fA-F]+[uU]?|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?[uU]?)
  | (?P<open>[(\[{])
  | (?P<close>[)\]}])
  | (?P<apart>&&|\|\||==|!=|<=|>=|[<>,:]|(?<!\.)\?)
  | (?P<plus>\+)
  | (?P<other>[-*/%!.?])
    """,
    re.VERBOSE | re.DOTALL,
)


class _UnreadableError(Exception):
    """The text is not in the known part of the language; the engine reports the
    error.
    """


def balanced(text: str) -> str:
    """Return an expression with its long sums grouped in pairs; else the text
    unchanged.

    The meaning stays the same: sums of texts, lists and integers may be grouped in any
    way. Sums that contain a minus are not changed. Only parentheses are added.
    """
    try:
        # A comment at the very end would swallow what is put after it.
        return _Reader(text + "\n").group(depth=0)
    except _UnreadableError:
        return text


def original_column(text: str, grouped: str, line: int, column: int) -> int:
    """Return the column in the text for a column in `balanced(text)`; both count from
    1.
    """
    lines, grouped_lines = text.split("\n"), grouped.split("\n")
    if not 0 < line <= len(lines) or column < 1:
        return column
    found = 0
    for char in grouped_lines[line - 1][: column - 1]:
        if found < len(lines[line - 1]) and lines[line - 1][found] == char:
            found += 1
    return found + 1


class _Reader:
    """Reads an expression token by token and returns it grouped."""

    def __init__(self, text: str) -> None:
        self._tokens = self._read(text)

    @staticmethod
    def _read(text: str) -> Iterator[tuple[str, str]]:
        at = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None or match.lastgroup is None:
                raise _UnreadableError
            kind = match.lastgroup
            yield ("apart" if match[0] == "in" else kind), match[0]
            at = match.end()

    def group(self, *, depth: int) -> str:
        """Return the text between two brackets, with the closing one."""
        if depth > _MAX_DEPTH:
            raise _UnreadableError
        done = ""
        terms = _Sum()
        for kind, piece in self._tokens:
            match kind:
                case "open":
                    terms.add(piece + self.group(depth=depth + 1), ends_operand=True)
                case "close" | "apart":
                    done += terms.grouped() + piece
                    if kind == "close":
                        return done
                    terms = _Sum()
                case "plus":
                    terms.plus()
                case "blank":
                    terms.add(piece, ends_operand=terms.after_operand)
                case "other":
                    terms.differs |= piece == "-" and terms.after_operand
                    terms.add(piece, ends_operand=False)
                case _:
                    terms.add(piece, ends_operand=True)
        return done + terms.grouped()


class _Sum:
    """The operands of one sum that have been read so far."""

    def __init__(self) -> None:
        self.after_operand = False
        self.differs = False
        self._operands = [""]

    def add(self, text: str, *, ends_operand: bool) -> None:
        self._operands[-1] += text
        self.after_operand = ends_operand

    def plus(self) -> None:
        self._operands.append("")
        self.after_operand = False

    def grouped(self) -> str:
        if len(self._operands) < _LONG or self.differs:
            return "+".join(self._operands)
        return _pairs(self._operands)


def _pairs(operands: list[str]) -> str:
    if len(operands) == 1:
        return operands[0]
    half = len(operands) // 2
    return f"({_pairs(operands[:half])}+{_pairs(operands[half:])})"
