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
    return Finding(check, "ok", text)


def warning(check: str, text: str, mend: str) -> Finding:
    return Finding(check, "warning", text, mend)


def error(check: str, text: str, mend: str) -> Finding:
    return Finding(check, "error", text, mend)


def unknown(check: str, text: str, mend: str = "") -> Finding:
    return Finding(check, "unknown", text, mend)
