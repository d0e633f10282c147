"""Label selectors, as the API server reads them, for objects that are not on a server.

The grammar is the API's: requirements separated by commas, sets in parentheses, spaces
anywhere. Pure.
"""

import re
from collections.abc import Callable, Iterator, Mapping

import attrs

from asoreconcile.base.lru import lru_cached

Labels = Mapping[str, str]
LabelTest = Callable[[Labels], bool]

_TOKEN = re.compile(r"==|!=|[=!<>(),]|[^\s=!<>(),]+")
_KEY = re.compile(r"([A-Za-z0-9.-]+/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_OPERATORS = ("=", "==", "!=", "<", ">", "in", "notin")


class SelectorError(ValueError):
    """A text is not a label selector."""


@lru_cached
def label_test(selector: str) -> LabelTest:
    """Return a function that returns whether labels match a selector, such as
    `app=mine,tier notin (test),!old`; "" matches all labels.

    Raises SelectorError, a ValueError, with the API server's text.
    """
    tests = list(_tests(selector))
    return lambda labels: all(test(labels) for test in tests)


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

    def refuse(self, expected: str) -> "SelectorError":
        found = self.peek()
        return SelectorError(
            f"unable to parse requirement: found '{found}', expected: {expected}"
        )


def _tests(selector: str) -> Iterator[LabelTest]:
    tokens = _Tokens(selector)
    while tokens.rest:
        yield _test(tokens)
        if not tokens.rest:
            return
        if tokens.take() != ",":
            raise tokens.refuse("',' or 'end of string'")
        if not tokens.rest:
            raise tokens.refuse("identifier after ','")


def _test(tokens: _Tokens) -> LabelTest:
    absent = tokens.peek() == "!"
    if absent:
        tokens.take()
    key = tokens.take()
    if not _KEY.fullmatch(key):
        raise SelectorError(f"unable to parse requirement: <nil>: invalid key {key!r}")
    operator = tokens.peek()
    if absent or operator in ("", ","):
        return lambda labels: (key in labels) is not absent
    if operator not in _OPERATORS:
        raise tokens.refuse("in, notin, =, ==, !=, gt, lt")
    tokens.take()
    if operator in ("in", "notin"):
        values = _set_of(tokens)
        wanted = operator == "in"
        return lambda labels: (labels.get(key) in values) is wanted
    value = "" if tokens.peek() in ("", ",") else tokens.take()
    if not _VALUE.fullmatch(value):
        raise SelectorError(f"unable to parse requirement: invalid value {value!r}")
    if operator in "<>":
        return _ordered(key, operator, value)
    if operator == "!=":
        return lambda labels: labels.get(key) != value
    return lambda labels: labels.get(key) == value


def _set_of(tokens: _Tokens) -> set[str]:
    if tokens.take() != "(":
        raise tokens.refuse("'('")
    values, text = set(), ""
    while (part := tokens.take()) != ")":
        if not part:
            raise tokens.refuse("',' or ')'")
        if part == ",":
            values.add(text)
            text = ""
        elif text or not _VALUE.fullmatch(part):
            raise SelectorError(f"unable to parse requirement: found {part!r}")
        else:
            text = part
    values.add(text)
    return values


def _ordered(key: str, operator: str, value: str) -> LabelTest:
    try:
        limit = int(value)
    except ValueError as error:
        raise SelectorError(
            "unable to parse requirement: values[0]: Invalid value: "
            f"\"{value}\": for 'Gt', 'Lt' operators, the value must be an integer"
        ) from error

    def matches(labels: Labels) -> bool:
        try:
            found = int(labels[key])
        except (KeyError, ValueError):
            return False
        return found > limit if operator == ">" else found < limit

    return matches
