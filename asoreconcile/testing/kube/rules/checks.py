"""The checks of a schema's validation rules when the CRD is written.

A rule that does not compile, or that needs something missing here (the engine, a
function), is refused with the CRD, so that users do not rely on a rule that never runs.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.kube.rules.cel import CelMissingError, RuleError
from asoreconcile.testing.kube.rules.validation import RULES, program, uses_old
from asoreconcile.testing.kube.rules.values import escaped
from asoreconcile.testing.kube.wire.status import Cause

_REASONS = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)
_STEP = re.compile(r"\.([A-Za-z_]\w*)|\['([^']+)'\]")
_LITERALS = re.compile(r"""r?("([^"\\\n]|\\.)*"|'([^'\\\n]|\\.)*')""")
_CHAIN = re.compile(r"(?<![\w.])(self|oldSelf)((?:\.[A-Za-z_]\w*)+)(\s*\()?")
_BOOL = ("BOOL", "DYN")
_STRING = ("STRING", "DYN")


def causes(
    schema: JsonObject, at: str, *, uncorrelated: str, is_root: bool
) -> Iterator[Cause]:
    """Yield the mistakes in a schema's own rules.

    uncorrelated: path of the enclosing list whose items cannot be matched between
    updates; "" if there is none.
    """
    for index, rule in enumerate(schema.get(RULES) or ()):
        here = f"{at}.{RULES}[{index}]"
        text = str(rule.get("rule") or "").strip()
        if not text:
            why = "Required value: rule is not specified"
            yield Cause(f"{here}.rule", "FieldValueRequired", why)
            continue
        yield from _stated(schema, rule, here)
        yield from _compiled(schema, rule, here, is_root=is_root)
        if uses_old(text) and uncorrelated:
            why = (
                "oldSelf cannot be used on the uncorrelatable portion of the schema "
                f"within {uncorrelated}"
            )
            yield _invalid(f"{here}.rule", f'"{text}"', why)


def _stated(schema: JsonObject, rule: Mapping[str, Any], at: str) -> Iterator[Cause]:
    """Yield the mistakes in a rule outside of its expressions."""
    message = rule.get("message")
    if message is not None and "\n" in str(message).strip():
        shown = str(message).replace("\n", "\\n")
        why = "must not contain line breaks"
        yield _invalid(f"{at}.message", f'"{shown}"', why)
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        allowed = ", ".join(f'"{known}"' for known in _REASONS)
        yield Cause(
            f"{at}.reason",
            "FieldValueNotSupported",
            f'Unsupported value: "{reason}": supported values: {allowed}',
        )
    path = str(rule.get("fieldPath") or "")
    if path and not _leads_somewhere(schema, path):
        why = "must be a valid path"
        yield _invalid(f"{at}.fieldPath", f'"{path}"', why)
    if rule.get("optionalOldSelf") and not uses_old(str(rule["rule"])):
        why = "may not be set if oldSelf is not used in rule"
        yield _invalid(f"{at}.optionalOldSelf", "true", why)


def _compiled(
    schema: JsonObject, rule: Mapping[str, Any], at: str, *, is_root: bool
) -> Iterator[Cause]:
    for field, gives, message in (
        ("rule", _BOOL, "cel expression must evaluate to a bool"),
        ("messageExpression", _STRING, "messageExpression must evaluate to a string"),
    ):
        text = str(rule.get(field) or "")
        if not text:
            continue
        try:
            made = program(rule, field)
            _check_fields(schema, text, is_root=is_root)
        except CelMissingError as error:
            yield Cause(f"{at}.{field}", "FieldValueNotSupported", str(error))
            return
        except RuleError as error:
            word = "" if field == "rule" else "messageExpression "
            yield _invalid(f"{at}.{field}", _shown(rule), f"{word}{error}")
            continue
        if made.gives not in gives:
            yield _invalid(f"{at}.{field}", _shown(rule), message)


def _check_fields(schema: JsonObject, text: str, *, is_root: bool) -> None:
    """Refuse `self.x` if there is no field x, as far as fields lead. Raises
    RuleError.
    """
    plain = _LITERALS.sub(lambda found: " " * len(found[0]), text)
    for found in _CHAIN.finditer(plain):
        part: Any = schema
        names = found[2][1:].split(".")
        if found[3]:
            names.pop()  # the last name is called: a function, or a macro
        column = found.start(1) + len(found[1])
        for depth, name in enumerate(names):
            properties = part.get("properties") or {}
            own = {escaped(known): inner for known, inner in properties.items()}
            if is_root and depth == 0 and name in ("metadata", "apiVersion", "kind"):
                break
            if name not in own:
                if part.get("type") != "object" or "additionalProperties" in part:
                    break
                line = f"ERROR: <input>:1:{column + 1}: undefined field '{name}'"
                raise RuleError(f"compilation failed: {line}")
            part, column = own[name], column + 1 + len(name)


def _leads_somewhere(schema: JsonObject, path: str) -> bool:
    at, part = 0, schema
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            return False
        name, at = step[1] or step[2], step.end()
        inner = (part.get("properties") or {}).get(name)
        extra = part.get("additionalProperties")
        if inner is None and step[2] and isinstance(extra, dict):
            inner = extra
        if not isinstance(inner, dict):
            return False
        part = inner
    return True


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
