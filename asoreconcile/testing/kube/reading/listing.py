"""The parameters of a list or watch: versions, pages, and allowed combinations. Pure.

Raises StatusError 400, 422 and, for invalid versions, 400 or (sic) 500.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

import attrs
import orjson

from asoreconcile.base.objects import ObjectKey
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.testing.kube.access.attributes import is_true
from asoreconcile.testing.kube.wire.status import (
    StatusError,
    bad_request,
    internal_error,
    invalid,
)

_EXACT, _NOT_OLDER = "Exact", "NotOlderThan"
_MATCH, _INITIAL = "resourceVersionMatch", "sendInitialEvents"
_NUMBER = re.compile(r"[+-]?[0-9]+")
_LARGEST_NUMBER = (1 << 63) - 1
_LONGEST_NUMBER = 40
ANY_VERSION = -1
_TOKEN_VERSION = "meta.k8s.io/v1"
_LARGEST_VERSION = (1 << 64) - 1


@attrs.frozen
class Start:
    """The start of a list.

    version: if None, the present one.
    after: the last key of the previous page.
    exact: whether the list must be of that version, not of a later one.
    """

    version: int | None = None
    exact: bool = False
    after: ObjectKey | None = None


def list_start(query: Mapping[str, str]) -> Start:
    """Return the version and place at which a list starts."""
    wanted, match = query.get("resourceVersion", ""), query.get(_MATCH, "")
    token = query.get("continue", "")
    _refuse(_list_causes(query, wanted, match, token))
    if token:
        if wanted not in ("", "0"):
            raise bad_request(
                "specifying resource version is not allowed when using continue"
            )
        after, version = _parse_token(token)
        if version == ANY_VERSION:
            return Start(after=after)
        return Start(version, exact=True, after=after)
    if wanted in ("", "0"):
        return Start()
    try:
        version = parse_version(wanted)
    except StatusError as error:
        raise bad_request(f"invalid resource version: {error}") from error
    return Start(version, exact=match == _EXACT)


def check_watch(query: Mapping[str, str]) -> None:
    """Refuse combinations of parameters that are not allowed in a watch."""
    match, found = query.get(_MATCH, ""), []
    if query.get(_INITIAL):
        if match != _NOT_OLDER:
            why = f"sendInitialEvents requires setting {_MATCH} to {_NOT_OLDER}"
            found.append(_forbidden(_MATCH, why))
    elif match:
        why = f"{_MATCH} is forbidden for watch unless sendInitialEvents is provided"
        found.append(_forbidden(_MATCH, why))
    if match:
        if match not in (_EXACT, _NOT_OLDER):
            found.append(_unsupported(match, f'"{_NOT_OLDER}"'))
        if query.get("continue"):
            why = f"{_MATCH} is forbidden when continue is provided"
            found.append(_forbidden(_MATCH, why))
    _refuse(found)


def parse_version(text: str) -> int:
    """Return a resource version. Raises StatusError 500 (sic), as the API
    server does.
    """
    if text.isascii() and text.isdigit():
        if (version := int(text)) <= _LARGEST_VERSION:
            return version
        why = "value out of range"
    else:
        why = "invalid syntax"
    raise internal_error(
        f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing '
        f'"{text}": {why}'
    )


def number(query: Mapping[str, str], name: str) -> int:
    """Return an integer of the query, or 0 without one. Raises StatusError 400."""
    text, why = query.get(name, ""), "invalid syntax"
    if not text:
        return 0
    if _NUMBER.fullmatch(text):
        found = int(text) if len(text) < _LONGEST_NUMBER else _LARGEST_NUMBER + 1
        if -_LARGEST_NUMBER <= found <= _LARGEST_NUMBER:
            return found
        why = "value out of range"
    raise bad_request(f'strconv.ParseInt: parsing "{text}": {why}')


def token_after(version: int, last: ObjectKey) -> str:
    """Return the `continue` token for the page after a key."""
    content = {"v": _TOKEN_VERSION, "rv": version, "start": [*_parts(last)]}
    return base64.urlsafe_b64encode(orjson.dumps(content)).decode().rstrip("=")


def _parts(key: ObjectKey) -> tuple[str, str]:
    return key.namespace, key.name


def _parse_token(token: str) -> tuple[ObjectKey, int]:
    try:
        padded = token + "=" * (-len(token) % 4)
        content: Any = orjson.loads(base64.urlsafe_b64decode(padded))
        stated, version = content.get("v"), content.get("rv")
        if stated != _TOKEN_VERSION:
            why = f"server does not recognize this encoded version {stated or ''}"
            raise ValueError(why)
        if not version:
            why = "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"
            raise ValueError(why)
        namespace, name = content["start"]
        return ObjectKey(str(namespace), str(name)), int(version)
    except (binascii.Error, AttributeError, ValueError, TypeError, KeyError) as error:
        raise bad_request(
            f"invalid continue token: continue key is not valid: {error}"
        ) from error


def _list_causes(
    query: Mapping[str, str], wanted: str, match: str, token: str
) -> list[Cause]:
    found = []
    if match:
        if not wanted:
            why = f"{_MATCH} is forbidden unless resourceVersion is provided"
            found.append(_forbidden(_MATCH, why))
        if token:
            why = f"{_MATCH} is forbidden when continue is provided"
            found.append(_forbidden(_MATCH, why))
        if match not in (_EXACT, _NOT_OLDER):
            found.append(_unsupported(match, f'"{_EXACT}", "{_NOT_OLDER}", ""'))
        if match == _EXACT and wanted == "0":
            why = f'{_MATCH} "exact" is forbidden for resourceVersion "0"'
            found.append(_forbidden(_MATCH, why))
    if query.get(_INITIAL):
        found.append(_forbidden(_INITIAL, "sendInitialEvents is forbidden for list"))
    return found


def _forbidden(field: str, why: str) -> Cause:
    return Cause(field, "FieldValueForbidden", f"Forbidden: {why}")


def _unsupported(match: str, supported: str) -> Cause:
    why = f'Unsupported value: "{match}": supported values: {supported}'
    return Cause(_MATCH, "FieldValueNotSupported", why)


def _refuse(found: list[Cause]) -> None:
    if found:
        raise invalid("ListOptions", "meta.k8s.io", "", found)


def wants_initial_events(query: Mapping[str, str]) -> bool:
    """Return whether a watch begins with all objects and a mark at their end."""
    if query.get(_INITIAL):
        return is_true(query, _INITIAL)
    return query.get("resourceVersion", "") in ("", "0")
