"""Validation rules of a schema (`x-kubernetes-validations`) as they are stated. Pure.

The meaning of their expressions is not checked here.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.crds.cause import Cause, invalid, required, unsupported
from asoreconcile.resources.crds.paths import FieldPathError, field_schema

REASONS = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)
_OLD = re.compile(r"\boldSelf\b")
# A literal without an end goes on to the end of its line.
_LITERALS = re.compile(r"""r?("([^"\\\n]|\\.)*+"?|'([^'\\\n]|\\.)*+'?)""")
_BREAK = re.compile(r"[\n\r]")


def rule_causes(
    schema: JsonObject, rule: Mapping[str, Any], at: str
) -> Iterator[Cause]:
    """Yield what is wrong with a rule besides its expressions.

    schema: the schema that has the rule.
    """
    text, message = rule.get("rule") or "", rule.get("message") or ""
    said = message.strip()
    if not text.strip():
        yield required(f"{at}.rule", "rule is not specified")
    elif message and not said:
        yield invalid(f"{at}.message", message, "must be non-empty if specified")
    elif _BREAK.search(said):
        shown = message.replace("\n", "\\n").replace("\r", "\\r")
        yield invalid(f"{at}.message", shown, "must not contain line breaks")
    elif _BREAK.search(text.strip()) and not said:
        why = "message must be specified if rule contains line breaks"
        yield required(f"{at}.message", why)
    made = rule.get("messageExpression") or ""
    if made and not made.strip():
        why = "messageExpression must be non-empty if specified"
        yield required(f"{at}.messageExpression", why)
    reason = rule.get("reason")
    if reason is not None and reason not in REASONS:
        yield unsupported(f"{at}.reason", reason, REASONS)
    path = rule.get("fieldPath") or ""
    if path and not path.strip():
        yield invalid(f"{at}.fieldPath", path, "must be non-empty if specified")
    if _BREAK.search(path):
        yield invalid(f"{at}.fieldPath", path, "must not contain line breaks")
    if path and not _leads_somewhere(schema, path):
        yield invalid(f"{at}.fieldPath", path, "must be a valid path")


def uses_old(text: str) -> bool:
    """Return whether a rule mentions `oldSelf` outside a string.

    It is then a transition rule, which runs only on updates.
    """
    return _OLD.search(_LITERALS.sub("", text)) is not None


def transition_causes(
    rule: Mapping[str, Any], at: str, uncorrelated: str
) -> Iterator[Cause]:
    """Yield what is wrong with how a rule uses `oldSelf`.

    uncorrelated: path of the enclosing list whose items cannot be matched between
    updates; "" if there is none.
    """
    text = str(rule.get("rule") or "").strip()
    if not uses_old(text):
        if rule.get("optionalOldSelf") is not None:
            why = "may not be set if oldSelf is not used in rule"
            yield invalid(f"{at}.optionalOldSelf", bool(rule["optionalOldSelf"]), why)
    elif uncorrelated:
        why = (
            "oldSelf cannot be used on the uncorrelatable portion of the schema within "
            f"{uncorrelated}"
        )
        yield invalid(f"{at}.rule", text, why)


def _leads_somewhere(schema: JsonObject, path: str) -> bool:
    try:
        field_schema(schema, path)
    except FieldPathError:
        return False
    return True
