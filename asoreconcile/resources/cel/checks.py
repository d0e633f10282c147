"""The checks of a schema's validation rules when the CRD is written.

A rule that does not compile, or needs a missing function or the missing engine, is
refused together with its CRD, so that users do not rely on a rule that never runs.
"""

import json
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any

from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.cel import budget
from asoreconcile.resources.cel.engine import CelMissingError, RuleError
from asoreconcile.resources.cel.rule_programs import program, typed_text
from asoreconcile.resources.cel.types import type_of, typed_compiler
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.resources.crds.structural import EMBEDDED, RULES, schemas_at


def causes(schema: JsonObject, at: str, places: Container[str]) -> Iterator[Cause]:
    """Yield the mistakes in the expressions of a version's schema, and those that cost
    too much.

    places: paths of the schemas whose rules are compiled.
    """
    for here, part in schemas_at(schema, at):
        if here not in places:
            continue
        found = type_of(part, is_root=here == at or bool(part.get(EMBEDDED)))
        try:
            type_in = typed_compiler(found) if found else None
        except CelMissingError:
            type_in = None  # reported for each rule
        for index, rule in enumerate(part[RULES]):
            yield from _compiled(type_in, rule, f"{here}.{RULES}[{index}]")
    yield from budget.causes(schema, at, places)


def _compiled(
    type_in: Callable[[str], str] | None, rule: Mapping[str, Any], at: str
) -> Iterator[Cause]:
    for field, wanted, message in (
        ("rule", "BOOL", "cel expression must evaluate to a bool"),
        ("messageExpression", "STRING", "messageExpression must evaluate to a string"),
    ):
        if not str(rule.get(field) or ""):
            continue
        try:
            program(rule, field)
            given = type_in(typed_text(rule, field)) if type_in else "DYN"
        except CelMissingError as error:
            yield Cause(f"{at}.{field}", "FieldValueNotSupported", str(error))
            return
        except RuleError as error:
            word = "" if field == "rule" else "messageExpression "
            yield _invalid(f"{at}.{field}", _shown(rule), f"{word}{error}")
            continue
        if given != wanted:
            yield _invalid(f"{at}.{field}", _shown(rule), message)


def _shown(rule: Mapping[str, Any]) -> str:
    """Return a rule as in the API server's messages: JSON, safe for HTML."""
    stated = {
        "Rule": str(rule.get("rule") or ""),
        "Message": str(rule.get("message") or ""),
        "MessageExpression": str(rule.get("messageExpression") or ""),
        "Reason": rule.get("reason"),
        "FieldPath": str(rule.get("fieldPath") or ""),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
    text = json.dumps(stated, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _invalid(field: str, value: str, why: str) -> Cause:
    return Cause(field, "FieldValueInvalid", f"Invalid value: {value}: {why}")
