"""Label and field selectors: which objects a list or watch is about."""

import re
from collections.abc import Callable

from asoreconcile.objects import JsonObject, dig, labels, metadata
from asoreconcile.testing.kube.status import bad_request

Matches = Callable[[JsonObject], bool]

_SET = re.compile(r"^([\w./-]+)\s+(in|notin)\s+\(([^)]*)\)$")
_EQUAL = re.compile(r"^([\w./-]+)\s*(==|=|!=)\s*([\w.-]*)$")
_EXISTS = re.compile(r"^(!?)\s*([\w./-]+)$")
_FIELDS = {"metadata.name", "metadata.namespace"}
_EVENT_FIELDS = {
    f"involvedObject.{name}"
    for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion")
} | {"reason", "type", "source"}


def selected(label_selector: str, field_selector: str, kind: str) -> Matches:
    """One test for both selectors. Raises StatusError 400 for what is none."""
    tests = [_label_test(part) for part in _split(label_selector)]
    tests += [_field_test(part, kind) for part in _split(field_selector)]
    return lambda obj: all(test(obj) for test in tests)


def _split(selector: str) -> list[str]:
    """The requirements of a selector: commas outside parentheses part them."""
    parts = re.split(r",(?![^(]*\))", selector)
    return [part.strip() for part in parts if part.strip()]


def _label_test(requirement: str) -> Matches:
    if match := _SET.match(requirement):
        key, operator, text = match.groups()
        values = {value.strip() for value in text.split(",")}
        if operator == "in":
            return lambda obj: labels(obj).get(key) in values
        return lambda obj: labels(obj).get(key) not in values
    if match := _EQUAL.match(requirement):
        key, operator, value = match.groups()
        if operator == "!=":
            return lambda obj: labels(obj).get(key) != value
        return lambda obj: labels(obj).get(key) == value
    if match := _EXISTS.match(requirement):
        absent, key = match.groups()
        return lambda obj: (key in labels(obj)) is not bool(absent)
    raise bad_request(f"unable to parse requirement: {requirement!r}")


def _field_test(requirement: str, kind: str) -> Matches:
    match = re.match(r"^([\w.]+)\s*(==|=|!=)\s*(.*)$", requirement)
    if match is None:
        raise bad_request(f"invalid field selector: {requirement!r}")
    path, operator, value = match.groups()
    known = _FIELDS | (_EVENT_FIELDS if kind == "Event" else set())
    if path not in known:
        raise bad_request(f"field label not supported: {path}")
    wanted = operator != "!="
    return lambda obj: (_field(obj, path) == value) is wanted


def _field(obj: JsonObject, path: str) -> str:
    if path in _FIELDS:
        return str(metadata(obj).get(path.removeprefix("metadata.")) or "")
    return str(dig(obj, path) or "")
