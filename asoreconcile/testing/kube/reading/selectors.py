"""Label and field selectors of lists and watches.

The grammar is the API's: requirements separated by commas, sets in parentheses, spaces
anywhere. Raises StatusError 400 for a text that is not a selector.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from asoreconcile.base.objects import JsonObject, dig, labels, metadata
from asoreconcile.kube.label_selector import SelectorError, label_test
from asoreconcile.testing.kube.kinds.resources import RestResource
from asoreconcile.testing.kube.wire.status import StatusError, bad_request

Matches = Callable[[JsonObject], bool]

_FIELD = re.compile(r"([^=!]+?)(==|!=|=)(.*)", re.DOTALL)
_META_FIELDS = frozenset({"metadata.name", "metadata.namespace"})


def selected(
    label_selector: str, field_selector: str, resource: RestResource
) -> Matches:
    """Return one test for both selectors."""
    tests: list[Matches] = []
    if label_selector:
        try:
            match = label_test(label_selector)
        except SelectorError as error:
            raise bad_request(str(error)) from error
        tests.append(lambda obj: match(labels(obj)))
    tests += _field_tests(field_selector, resource)
    if not tests:
        return lambda _: True
    return lambda obj: all(test(obj) for test in tests)


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
