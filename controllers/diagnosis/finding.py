"""What a check found, and how to mend it."""

from typing import Literal

import attrs

Level = Literal["ok", "warning", "error", "unknown"]
# The repairs that findings name; `fixes` makes them.
DROP_STORED_VERSIONS = "drop-stored-versions"
REMOVE_CA_BUNDLE = "remove-ca-bundle"
RESTART_OPERATOR = "restart-operator"


@attrs.frozen
class Finding:
    """check: what was looked at, one or two words. mend: what to do, "" for ok.

    `unknown`: it could not be looked at, such as without the right to. fix: the name of
    the repair that mends it (`fixes`), "" where a person has to; target: what that is
    done to, such as the name of a CRD.
    """

    check: str
    level: Level
    text: str
    mend: str = ""
    fix: str = ""
    target: str = ""


def ok(check: str, text: str) -> Finding:
    """In order; or not, and nothing that anybody has to mend."""
    return Finding(check, "ok", text)


def warning(
    check: str, text: str, mend: str, *, fix: str = "", target: str = ""
) -> Finding:
    """It works, and may not for long, or not as meant."""
    return Finding(check, "warning", text, mend, fix, target)


def error(
    check: str, text: str, mend: str, *, fix: str = "", target: str = ""
) -> Finding:
    """Something does not work."""
    return Finding(check, "error", text, mend, fix, target)


def unknown(check: str, text: str, mend: str) -> Finding:
    """It could not be looked at. mend: how it can be."""
    return Finding(check, "unknown", text, mend)
