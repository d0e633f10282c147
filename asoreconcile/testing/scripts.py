"""One line of a fault script, `VERB TARGET WHAT[:ARGUMENT] [xCOUNT]`, parsed.

Both test servers share this syntax; each gives the words its own meaning.
"""

import re
from collections.abc import Collection

import attrs


@attrs.frozen
class Line:
    """A parsed line.

    verb: spelled as in `verbs`.
    what: a status or a word, in lower case.
    argument: the text after the colon of `what`, or "".
    times: number of hits.
    """

    verb: str
    target: str
    what: str
    argument: str
    times: int

    @property
    def status(self) -> int | None:
        """Return the HTTP status to answer with, or None if `what` is a word."""
        return int(self.what) if self.what.isdecimal() else None


def parse_line(
    text: str, *, form: str, verbs: Collection[str], whats: Collection[str]
) -> Line:
    """Read one line. Without a count, the fault hits once. Raises ValueError.

    form: syntax of a line, for error messages.
    verbs: the allowed verbs.
    whats: the allowed words; any HTTP status is also allowed.
    """
    words = text.split()
    times = 1
    if words and (match := re.fullmatch(r"[xX](\d+)", words[-1])):
        times = int(match[1])
        words.pop()
    if len(words) != 3:
        message = f"{text!r} is not {form} [xCOUNT]"
        raise ValueError(message)
    verb, target, what = words
    known = next((v for v in (verb.upper(), verb.lower()) if v in verbs), None)
    if known is None:
        message = f"{verb!r} is none of {', '.join(verbs)}"
        raise ValueError(message)
    name, _, argument = what.partition(":")
    line = Line(known, target, name.lower(), argument, times)
    if line.status is None and line.what not in whats:
        message = f"{what!r} is no status and none of {', '.join(whats)}"
        raise ValueError(message)
    return line
