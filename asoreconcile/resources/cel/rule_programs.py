"""The expressions of a validation rule, compiled; `oldSelf` may be optional in them."""

from collections.abc import Mapping
from typing import Any

from asoreconcile.resources.cel.engine import CelProgram, engine

OLD_VALUE, HAS_OLD = "old__value", "old__is"


def program(rule: Mapping[str, Any], field: str) -> CelProgram:
    """Return one of a rule's expressions. Raises RuleError, CelMissingError.

    With `optionalOldSelf`, `oldSelf` is an optional value: the single item of a list on
    which the expression is run.
    """
    made = engine().compile(str(rule[field]))
    if not rule.get("optionalOldSelf"):
        return made
    return engine(("self", OLD_VALUE, HAS_OLD)).compile(typed_text(rule, field))


def typed_text(rule: Mapping[str, Any], field: str) -> str:
    """Return an expression in which `oldSelf` is optional if the rule says so."""
    text = str(rule[field])
    if not rule.get("optionalOldSelf"):
        return text
    before = f"[{HAS_OLD} ? optional.of({OLD_VALUE}) : optional.none()]"
    if field == "rule":
        return f"{before}.all(oldSelf,\n{text}\n)"
    return f"{before}.map(oldSelf,\n{text}\n)[0]"
