"""What a check found, and how to mend it."""

from typing import Literal

import attrs

Level = Literal["ok", "warning", "error", "unknown"]


@attrs.frozen
class Finding:
    """check: what was looked at, one or two words. mend: what to do, "" for ok.

    `unknown`: it could not be looked at, such as without the right to.
    """

    check: str
    level: Level
    text: str
    mend: str = ""


def ok(check: str, text: str) -> Finding:
    """A finding that asks for nothing."""
    return Finding(check, "ok", text)


def warning(check: str, text: str, mend: str) -> Finding:
    """Something that works now and may not for long; `mend` says what to do."""
    return Finding(check, "warning", text, mend)


def error(check: str, text: str, mend: str) -> Finding:
    """Something that does not work; `mend` says what to do."""
    return Finding(check, "error", text, mend)


def unknown(check: str, text: str, mend: str = "") -> Finding:
    """What could not be looked at, such as for lack of a right; it is no failure."""
    return Finding(check, "unknown", text, mend)
