"""Label and field selectors of lists and watches.

The grammar is the API's: requirements separated by commas, sets in parentheses, spaces
anywhere. Raises StatusError 400 for a text that is not a selector.
"""

import re
from collections.abc import Callable, Iterator, Sequence

import attrs

from asoreconcile.base.objects import JsonObject, dig, labels, metadata
from asoreconcile.testing.kube.kinds.resources import RestResource
from asoreconcile.testing.kube.wire.status import StatusError, bad_request

Matches = Callable[[JsonObject], bool]

_TOKEN = re.compile(r"\s*(==|!=|[=!<>(),]|[^\s=!<>(),]+)")
_KEY = re.compile(r"([A-Za-z0-9.-]+/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_FIELD = re.compile(r"([^=!]+?)(==|!=|=)(.*)", re.DOTALL)
_OPERATORS = ("=", "==", "!=", "<", ">", "in", "notin")
_META_FIELDS = frozenset({"metadata.name", "metadata.namespace"})


def selected(
    label_selector: str, field_selector: str, resource: RestResource
) -> Matches:
    """Return one test for both selectors."""
    tests = list(_label_tests(label_selector))
    tests += _field_tests(field_selector, resource)
    if not tests:
        return lambda _: True
    return lambda obj: all(test(obj) for test in tests)


@attrs.define
class _Tokens:
    """The remaining part of a selector."""

    text: str
    rest: list[str] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.rest = _TOKEN.findall(self.text)
        self.rest.reverse()

    def peek(self) -> str:
        return self.rest[-1] if self.rest else ""

    def take(self) -> str:
        return self.rest.pop() if self.rest else ""

    def refuse(self, expected: str) -> StatusError:
        found = self.peek()
        return bad_request(
            f"unable to parse requirement: found '{found}', expected: {expected}"
        )


def _label_tests(selector: str) -> Iterator[Matches]:
    tokens = _Tokens(selector)
    while tokens.rest:
        yield _label_test(tokens)
        if not tokens.rest:
            return
        if tokens.take() != ",":
            raise tokens.refuse("',' or 'end of string'")
        if not tokens.rest:
            raise tokens.refuse("identifier after ','")


def _label_test(tokens: _Tokens) -> Matches:
    absent = tokens.peek() == "!"
    if absent:
        tokens.take()
    key = tokens.take()
    if not _KEY.fullmatch(key):
        raise bad_request(f"unable to parse requirement: <nil>: invalid key {key!r}")
    operator = tokens.peek()
    if absent or operator in ("", ","):
        return lambda obj: (key in labels(obj)) is not absent
    if operator not in _OPERATORS:
        raise tokens.refuse("in, notin, =, ==, !=, gt, lt")
    tokens.take()
    if operator in ("in", "notin"):
        values = _set_of(tokens)
        wanted = operator == "in"
        return lambda obj: (labels(obj).get(key) in values) is wanted
    value = "" if tokens.peek() in ("", ",") else tokens.take()
    if not _VALUE.fullmatch(value):
        raise bad_request(f"unable to parse requirement: invalid value {value!r}")
    if operator in "<>":
        return _ordered(key, operator, value)
    if operator == "!=":
        return lambda obj: labels(obj).get(key) != value
    return lambda obj: labels(obj).get(key) == value


def _set_of(tokens: _Tokens) -> set[str]:
    if tokens.take() != "(":
        raise tokens.refuse("'('")
    values, text = set(), ""
    while (token := tokens.take()) != ")":
        if not token:
            raise tokens.refuse("',' or ')'")
        if token == ",":
            values.add(text)
            text = ""
        elif text or not _VALUE.fullmatch(token):
            raise bad_request(f"unable to parse requirement: found {token!r}")
        else:
            text = token
    values.add(text)
    return values


def _ordered(key: str, operator: str, value: str) -> Matches:
    try:
        limit = int(value)
    except ValueError as error:
        raise bad_request(
            "unable to parse requirement: values[0]: Invalid value: "
            f"\"{value}\": for 'Gt', 'Lt' operators, the value must be an integer"
        ) from error

    def matches(obj: JsonObject) -> bool:
        try:
            found = int(labels(obj)[key])
        except (KeyError, ValueError):
            return False
        return found > limit if operator == ">" else found < limit

    return matches


def _field_tests(selector: str, resource: RestResource) -> Iterator[Matches]:
    for part in selector.split(","):
        if part:
            yield _field_test(part, resource)


def _field_test(requirement: str, resource: RestResource) -> Matches:
    match = _FIELD.fullmatch(requirement)
    if match is None:
        raise bad_request(
            f"invalid selector: '{requirement}'; can't understand '{requirement}'"
        )
    path, operator, value = match.groups()
    if path not in resource.fields and path not in _META_FIELDS:
        raise _unknown_field(path, resource)
    wanted, places = operator != "!=", resource.fields.get(path, path).split("|")
    return lambda obj: (_first(obj, places) == value) is wanted


def _unknown_field(path: str, resource: RestResource) -> StatusError:
    if resource.is_custom or resource.fields:
        return bad_request(f"field label not supported: {path}")
    return bad_request(
        f'"{path}" is not a known field selector: only "metadata.name", '
        '"metadata.namespace"'
    )


def _first(obj: JsonObject, paths: Sequence[str]) -> str:
    """Return the first of these fields that is not empty."""
    return next((found for path in paths if (found := _field(obj, path))), "")


def _field(obj: JsonObject, path: str) -> str:
    if path in _META_FIELDS:
        return str(metadata(obj).get(path.removeprefix("metadata.")) or "")
    value = dig(obj, path)
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
