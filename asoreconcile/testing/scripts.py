"""One line of a script of faults, `VERB TARGET WHAT[:ARGUMENT] [xCOUNT]`, taken apart.

The two test servers speak it alike; what the words mean is each one's own.
"""

import re
from collections.abc import Collection

import attrs


@attrs.frozen
class Line:
    """verb: in the casing that `verbs` have. what: in lower case, a status or a word.
    argument: what stands behind its colon, or "". times: how often it strikes.
    """

    verb: str
    target: str
    what: str
    argument: str
    times: int

    @property
    def status(self) -> int | None:
        """The HTTP status that is to be answered; None for a word."""
        return int(self.what) if self.what.isdecimal() else None


def parse_line(
    text: str, *, form: str, verbs: Collection[str], whats: Collection[str]
) -> Line:
    """Read one line; without a count it strikes once. Raises ValueError.

    form: of a line, for what is said of a wrong one. verbs, whats: those there are;
    any status is a what.
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
