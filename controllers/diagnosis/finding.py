"""The result of a check, with advice."""

from collections.abc import Sequence
from typing import Literal

import attrs

Level = Literal["ok", "warning", "error", "unknown"]
# The repairs that findings name; `fixes` makes them.
DROP_STORED_VERSIONS = "drop-stored-versions"
REMOVE_CA_BUNDLE = "remove-ca-bundle"
RESTART_OPERATOR = "restart-operator"
_SHOWN = 5


@attrs.frozen
class Finding:
    """The result of one check.

    check: the subject, one or two words.
    level: `unknown` if the check was not possible, such as for lack of rights. mend:
    advice, "" for ok.
    fix: the name of the repair (`fixes`), "" if a person has to act.
    target: the object of the repair, such as the name of a CRD.
    """

    check: str
    level: Level
    text: str
    mend: str = ""
    fix: str = ""
    target: str = ""


@attrs.frozen
class CheckSubject:
    """The subject of checks: makes the findings about it. name: one or two words."""

    name: str

    def ok(self, text: str) -> Finding:
        """Return a finding about something in order."""
        return Finding(self.name, "ok", text)

    def warning(
        self, text: str, mend: str, *, fix: str = "", target: str = ""
    ) -> Finding:
        """Return a finding about something that works, but maybe not for long or not as
        intended.
        """
        return Finding(self.name, "warning", text, mend, fix, target)

    def error(
        self, text: str, mend: str, *, fix: str = "", target: str = ""
    ) -> Finding:
        """Return a finding about something that does not work."""
        return Finding(self.name, "error", text, mend, fix, target)

    def unknown(self, text: str, mend: str) -> Finding:
        """Return a finding about something that could not be checked. mend: how it
        can be.
        """
        return Finding(self.name, "unknown", text, mend)


def some(titles: Sequence[str]) -> str:
    """Return the first titles, with an ellipsis if there are more."""
    shown = ", ".join(titles[:_SHOWN])
    return shown if len(titles) <= _SHOWN else f"{shown}, ..."
