"""Read ARM error bodies, in every form that Azure uses.

The error may be nested under `error` or at top level, in any letter case, problem+json,
a bare message, an HTML page, or empty. Reading never raises. The caller keeps the HTTP
status, which no body hides. Pure. Rules: E1-E5.
"""

from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

import attrs

from asoreconcile.azure.arm.response import ArmResponse, BrokenBodyError
from asoreconcile.azure.arm.text_bounds import FOREIGN_MESSAGE
from asoreconcile.base import jsontext

# Error codes of Azure by their meaning: see `error_codes.json`.
CODES: Mapping[str, frozenset[str]] = {
    name: frozenset(codes)
    for name, codes in jsontext.loads(
        (files("asoreconcile.azure.arm") / "error_codes.json").read_bytes()
    )["codes"].items()
}
UNKNOWN_CODE = "UnknownError"
NO_MESSAGE = "There was an unknown deployment error"
# Limits of texts from Azure or a proxy, which go to conditions and logs.
_MAX_CODE_LENGTH = 256
# Azure nests three or four levels; a deeper body must not end in a RecursionError.
_MAX_DEPTH = 8


@attrs.frozen
class ErrorBody:
    """The content of an error body.

    code, message: members of the outermost error object, with defaults.
    target: the part of the request that the error is about, or "".
    codes: every code in the body, the outermost first, the most specific last (E3).
    policies: display names of the policies that denied the request (E4).
    understood: true if the body was JSON; else the message is the body's text.
    """

    code: str
    message: str
    target: str = ""
    codes: tuple[str, ...] = ()
    detail_targets: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    understood: bool = True


def read(answer: ArmResponse) -> ErrorBody:
    """Return the error in a response's body."""
    try:
        document = answer.document
    except BrokenBodyError:
        return ErrorBody(
            UNKNOWN_CODE, FOREIGN_MESSAGE.cut(answer.text), understood=False
        )
    if document is None:
        text = f"Azure answered {answer.status} without an explanation"
        return ErrorBody(UNKNOWN_CODE, text, understood=False)
    return of(document)


def of(document: Any) -> ErrorBody:
    """Return the error in a JSON body."""
    fault = _fault(document)
    if isinstance(fault, str):
        return ErrorBody(UNKNOWN_CODE, FOREIGN_MESSAGE.cut(fault) or NO_MESSAGE)
    members = _folded(fault)
    codes = tuple(_codes(members, depth=0))
    return ErrorBody(
        code=_code(members) or UNKNOWN_CODE,
        message=_message(members) or NO_MESSAGE,
        target=_text(members.get("target")),
        codes=codes,
        detail_targets=tuple(_detail_targets(members)),
        policies=tuple(_policies(members)),
    )


def _fault(document: Any) -> Any:
    """Return the error object: a nested `error` wins over top level; a string is a
    message.
    """
    if not isinstance(document, dict):
        return document if isinstance(document, str) else {}
    nested = _folded(document).get("error")
    if isinstance(nested, dict) and nested:
        return nested
    if isinstance(nested, str) and nested.strip():
        return nested
    return document


def _folded(value: Any) -> dict[str, Any]:
    """Return an object's members by lower-case key; the first spelling wins."""
    folded: dict[str, Any] = {}
    if isinstance(value, dict):
        for name, member in value.items():
            folded.setdefault(name.lower(), member)
    return folded


def _code(members: dict[str, Any]) -> str:
    value = members.get("code")
    # Some providers send a number; in Python True is one, too.
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return ""
    return str(value).strip()[:_MAX_CODE_LENGTH]


def _message(members: dict[str, Any]) -> str:
    # The last two are problem+json's (RFC 9457).
    for name in ("message", "detail", "title"):
        text = _text(members.get(name))
        if text:
            return text
    return ""


def _text(value: Any) -> str:
    return FOREIGN_MESSAGE.cut(value) if isinstance(value, str) else ""


def _inner(members: dict[str, Any]) -> Iterator[dict[str, Any]]:
    details = members.get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict):
            yield _folded(detail)
    # OData's form, and that of providers that pass on another one's whole answer.
    for name in ("innererror", "error"):
        if isinstance(members.get(name), dict):
            yield _folded(members[name])


def _codes(members: dict[str, Any], *, depth: int) -> Iterator[str]:
    if depth == _MAX_DEPTH:
        return
    code = _code(members)
    if code:
        yield code
    for inner in _inner(members):
        yield from _codes(inner, depth=depth + 1)


def _detail_targets(members: dict[str, Any]) -> Iterator[str]:
    for inner in _inner(members):
        target = _text(inner.get("target"))
        if target:
            yield target


def _policies(members: dict[str, Any]) -> Iterator[str]:
    holders = [members, *_inner(members)]
    for holder in holders:
        entries = holder.get("additionalinfo")
        for entry in entries if isinstance(entries, list) else ():
            info = _folded(entry)
            if _text(info.get("type")).lower() == "policyviolation":
                yield from _policy_names(_folded(info.get("info")))


def _policy_names(info: dict[str, Any]) -> Iterator[str]:
    for name in (
        "policydefinitiondisplayname",
        "policydefinitionname",
        "policyassignmentdisplayname",
        "policyassignmentname",
    ):
        text = _text(info.get(name))
        if text:
            yield text
            return
