"""The expressions of a validation rule, compiled; `oldSelf` may be optional in them."""

from collections.abc import Mapping
from typing import Any

from asoreconcile.resources.cel.engine import CheckedExpression, checked

OLD_VALUE, HAS_OLD = "old__value", "old__is"
VARIABLES = ("self", "oldSelf")


def program(rule: Mapping[str, Any], field: str) -> CheckedExpression:
    """Return one of a rule's expressions. Raises RuleError, CelMissingError."""
    # Its own text first: a mistake is reported as at its place there.
    made = checked(str(rule[field]), VARIABLES)
    if not rule.get("optionalOldSelf"):
        return made
    return checked(typed_text(rule, field), variables_of(rule))


def variables_of(rule: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the variables of `typed_text`.

    With `optionalOldSelf`, `oldSelf` is an optional value: the single item of a list on
    which the expression is run.
    """
    return ("self", OLD_VALUE, HAS_OLD) if rule.get("optionalOldSelf") else VARIABLES


def typed_text(rule: Mapping[str, Any], field: str) -> str:
    """Return an expression in which `oldSelf` is optional if the rule says so."""
    text = str(rule[field])
    if not rule.get("optionalOldSelf"):
        return text
    before = f"[{HAS_OLD} ? optional.of({OLD_VALUE}) : optional.none()]"
    if field == "rule":
        return f"{before}.all(oldSelf,\n{text}\n)"
    return f"{before}.map(oldSelf,\n{text}\n)[0]"
