"""Events in their two forms: `v1` and `events.k8s.io/v1`. Pure.

The object is stored in the form of `v1`. The other form renames some fields.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from asoreconcile.base.objects import JsonObject, metadata
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.testing.kube.fields import names
from asoreconcile.testing.kube.fields.schema import shown

GROUP = "events.k8s.io"
CORE = "v1"
_RENAMED = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_IN_CORE = {new: old for old, new in _RENAMED.items()}
_ALWAYS: dict[str, JsonObject] = {
    CORE: {
        "involvedObject": {},
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "eventTime": None,
        "reportingComponent": "",
        "reportingInstance": "",
    },
    GROUP: {
        "eventTime": None,
        "regarding": {},
        "deprecatedSource": {},
        "deprecatedFirstTimestamp": None,
        "deprecatedLastTimestamp": None,
    },
}
_LONGEST = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}
_FIXED = (
    *("involvedObject", "reason", "message", "source", "firstTimestamp"),
    *("lastTimestamp", "count", "type", "eventTime", "action", "related"),
    *("reportingController", "reportingInstance"),
)
_TYPES = ("Normal", "Warning")
_ANYWHERE = ("default", "kube-system")


def selectable(core_fields: Iterable[str]) -> dict[str, str]:
    """Return the field labels of `events.k8s.io` with the paths of the
    stored fields.
    """
    named = {}
    for path in core_fields:
        first, dot, rest = path.partition(".")
        if first != "source":
            named[f"{_RENAMED.get(first, first)}{dot}{rest}"] = path
    return named


class EventForms:
    """The conversion of events between their versions."""

    def converted(
        self, objects: Sequence[JsonObject], api_version: str
    ) -> list[JsonObject]:
        """Return each event in the form of `api_version`, in the given order."""
        return [in_form(obj, api_version) for obj in objects]


def in_form(obj: JsonObject, api_version: str) -> JsonObject:
    """Return an event at a version, or the same object if it is already at it."""
    if obj.get("apiVersion") == api_version:
        return obj
    form = CORE if api_version == CORE else GROUP
    renamed = _IN_CORE if form == CORE else _RENAMED
    made = {renamed.get(name, name): value for name, value in obj.items()}
    if form == GROUP:
        for name in ("reportingController", "reportingInstance"):
            if not made.get(name):
                made.pop(name, None)
    return with_all_fields({**made, "apiVersion": api_version})


def with_all_fields(obj: JsonObject) -> JsonObject:
    """Return an event with the fields that are shown even if they are empty."""
    form = CORE if obj.get("apiVersion") == CORE else GROUP
    return {**_ALWAYS[form], **obj}


def causes(obj: JsonObject, before: JsonObject | None) -> Iterator[Cause]:
    """Yield the violations of an event's own rules, which are stricter for
    `events.k8s.io`.
    """
    is_core = obj.get("apiVersion") == CORE
    event = in_form(obj, CORE)
    yield from _old_causes(
        event, "reportingComponent" if is_core else "reportingController"
    )
    if is_core:
        return
    old = None if before is None else in_form(before, CORE)
    if old is None or old.get("series") != event.get("series"):
        yield from _series_causes(event)
    if old is None:
        yield from _new_causes(event)
        return
    for name in _FIXED:
        field = "reportingComponent" if name == "reportingController" else name
        if (event.get(field) or None) != (old.get(field) or None):
            yield _invalid(name, event.get(field), "field is immutable")


def _old_causes(event: JsonObject, controller: str) -> Iterator[Cause]:
    space = str(metadata(event).get("namespace") or "")
    involved = str((event.get("involvedObject") or {}).get("namespace") or "")
    if event.get("eventTime") is None:
        if (involved or "default") != space:
            yield _misplaced(involved)
        return
    if not involved and space not in _ANYWHERE:
        yield _misplaced(involved)
    reporter = str(event.get("reportingComponent") or "")
    if not reporter:
        yield _required(controller)
    for why in names.key_problems(reporter):
        yield _invalid(controller, reporter, why)
    for name, most in _LONGEST.items():
        value = str(event.get(name) or "")
        if not value and name != "message":
            yield _required(name)
        if len(value.encode()) > most:
            yield _invalid(name, "", f"can have at most {most} characters")


def _new_causes(event: JsonObject) -> Iterator[Cause]:
    if event.get("eventTime") is None:
        yield _required("eventTime")
    if event.get("type") not in _TYPES:
        yield _invalid("type", "", f"has invalid value: {event.get('type') or ''}")
    for name in ("firstTimestamp", "lastTimestamp", "count", "source"):
        if event.get(name):
            yield _invalid(name, "", "needs to be unset")


def _series_causes(event: JsonObject) -> Iterator[Cause]:
    series = event.get("series")
    if not series:
        return
    if (series.get("count") or 0) < 2:
        yield _invalid("series.count", "", "should be at least 2")
    if series.get("lastObservedTime") is None:
        yield _required("series.lastObservedTime")


def _misplaced(involved: str) -> Cause:
    why = "does not match event.namespace"
    return _invalid("involvedObject.namespace", involved, why)


def _required(field: str) -> Cause:
    return Cause(field, "FieldValueRequired", "Required value")


def _invalid(field: str, value: Any, why: str) -> Cause:
    return Cause(field, "FieldValueInvalid", f"Invalid value: {shown(value)}: {why}")
