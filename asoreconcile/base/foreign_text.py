"""Bounds the length of text that others write, before a parser sees it. Pure.

One regular expression or one parser that takes the square of a text's length holds the
interpreter for as long as it runs, and no other thread runs meanwhile. So each source
of foreign text has one `LengthBound`, and its text is read through it. A length is a
number of characters: it costs nothing to know, and the time of a parser follows it.
Rule: FT-3.
"""

import attrs

from asoreconcile.base.errors import AsoreconcileError

_MARK = "..."


class TooLongError(AsoreconcileError, ValueError):
    """A text is longer than its source may be. The message names source and limit."""


@attrs.frozen
class LengthBound:
    """The longest text of a source that is read.

    what: the source, for messages, such as `a name`. most: number of characters.
    """

    what: str
    most: int

    def fits(self, text: str) -> bool:
        """Return whether a text may be read."""
        return len(text) <= self.most

    def checked(self, text: str, place: str = "") -> str:
        """Return the text. Raises TooLongError if it is longer than the bound.

        place: path of the text, such as `spec.location`; without it the message names
        the source.
        """
        if len(text) > self.most:
            raise TooLongError(self.problem(text, place))
        return text

    def problem(self, text: str, place: str = "") -> str:
        """Return what is wrong with a text that is too long, without quoting it."""
        return (
            f"{place or self.what} has {len(text)} characters, and at most {self.most} "
            "are read"
        )

    def cut(self, text: str) -> str:
        """Return the beginning of a text that is only shown or searched."""
        if len(text) <= self.most:
            return text
        return text[: self.most - len(_MARK)] + _MARK


NAME = LengthBound("a name", 260)
"""A name of any sort; the longest that a cloud has known have 260 characters."""
