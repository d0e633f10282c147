"""Objects with metadata of types that no API has: each is one object's trouble (IN-10).

An aggregated API server is a program of anybody's; what it gets wrong with one object must
keep no other out of the cache.
"""

import copy
import json

import pytest
from scriptedapi import Page, Script, config_map, initial_end
from watchthread import WatchThread

from asoreconcile.base import jsontext
from asoreconcile.base.foreign_json import NoNumber
from asoreconcile.base.objects import key_of, version_number
from asoreconcile.cache.informer import Informer
from asoreconcile.cache.initial_list import StreamingSupport
from asoreconcile.cache.resume_point import ResumePoint
from asoreconcile.cache.scope import Scope
from asoreconcile.kube.resources import CONFIG_MAPS
from asoreconcile.testing.clock import FakeClock

ODD = [7, True, 1.5, [], [7], {"a": 7}]
FIELDS = ["namespace", "name", "uid", "resourceVersion", "annotations", "labels"]
CASES = [
    (field, value)
    for field in FIELDS
    for value in ODD
    # An empty list says what is not there at all, and a mapping of numbers is a mapping.
    if value != [] or field in ("namespace", "name")
]


class QuietClock(FakeClock):
    """Counts pauses: a kind that is tried again has had one."""

    def __init__(self):
        super().__init__()
        self.pauses = 0

    def wait(self, event, timeout_seconds):
        self.pauses += 1
        self.advance(timeout_seconds)
        return event.is_set()


def odd(field, value):
    obj = config_map("odd", 4)
    obj["metadata"][field] = value
    return obj


@pytest.fixture
def read():
    """An informer that has read a script to its end, its clock, and its reports."""
    started = []

    def run(*steps, streaming=True):
        script, clock, reports = Script(*copy.deepcopy(steps)), QuietClock(), []
        script.support = StreamingSupport(expected=streaming)  # type: ignore[attr-defined]
        informer = Informer(
            script,
            CONFIG_MAPS,
            Scope(),
            clock=clock,
            uniform=lambda low, _high: low,
            streaming=script.support,  # type: ignore[attr-defined]
            report=reports.append,
            runner=WatchThread(script, clock),
        )
        started.append(informer)
        informer.start()
        assert script.dry.wait(10), script.calls
        return informer, clock, reports

    yield run
    for informer in started:
        assert informer.stop(10) == []


def names(informer):
    return sorted(obj["metadata"]["name"] for obj in informer.list())


def check(informer, clock, reports):
    assert [name for name in names(informer) if name != "odd"] == ["after", "before"]
    assert clock.pauses == 0, "nothing was tried again"
    for report in reports:
        # What is made of it, an event for one, is made as of any other.
        meta = report.known["metadata"]
        texts = [meta[one] for one in ("namespace", "name", "uid", "resourceVersion")]
        assert all(isinstance(text, str) for text in texts)
        assert key_of(report.known) == report.key


@pytest.mark.parametrize(("field", "value"), CASES)
@pytest.mark.parametrize("type_", ["ADDED", "DELETED"])
def test_in10_an_odd_event_holds_up_no_other(read, type_, field, value):
    check(
        *read(
            [
                ("ADDED", config_map("before", 1)),
                initial_end(3),
                (type_, odd(field, value)),
                ("ADDED", config_map("after", 5)),
            ]
        )
    )


@pytest.mark.parametrize(("field", "value"), CASES)
@pytest.mark.parametrize("streaming", [True, False])
def test_in10_an_odd_object_of_the_state_holds_up_no_other(
    read, streaming, field, value
):
    objs = [config_map("before", 1), odd(field, value), config_map("after", 2)]
    if streaming:
        state = [*(("ADDED", obj) for obj in objs), initial_end(5)]
    else:
        state = Page(objs, "5")
    check(*read(state, streaming=streaming))


def test_rf10_a_version_of_more_digits_than_python_reads_is_no_number():
    long = "9" * 5000
    assert version_number(long) == 0
    point = ResumePoint()
    point.begin("5")
    assert not point.advance(long), "older than what was read, as far as anybody knows"


def no_number(place):
    obj = config_map("odd", 4)
    if place == "metadata":
        obj["metadata"]["generation"] = NoNumber("1e999")
    elif place == "status":
        obj["status"] = {"conditions": [{"observedGeneration": NoNumber("nan")}]}
    else:
        obj["data"] = {"a": [NoNumber("-inf")]}
    return obj


@pytest.mark.parametrize("place", ["metadata", "status", "data"])
@pytest.mark.parametrize("streaming", [True, False])
def test_in10_a_number_that_is_none_holds_up_no_other(read, streaming, place):
    """Before, and after the state; what is reported can be written all the same."""
    objs = [config_map("before", 1), no_number(place)]
    if streaming:
        state = [*(("ADDED", obj) for obj in objs), initial_end(5)]
    else:
        state = Page(objs, "5")
    steps = [state, [("ADDED", config_map("after", 6)), ("MODIFIED", no_number(place))]]
    if streaming:
        steps = [[*state, *steps[1]]]
    informer, clock, reports = read(*steps, streaming=streaming)
    check(informer, clock, reports)
    assert [str(report.key) for report in reports] == ["n/odd"]
    for report in reports:
        assert "JSON does not have" in report.why
        assert json.loads(jsontext.dumps(report.known))["kind"] == "ConfigMap"
        assert isinstance(report.known["status"], dict)
    assert "odd" not in names(informer)


@pytest.mark.parametrize("value", [None, *ODD])
def test_rf5_an_odd_bookmark_ends_no_watch(read, value):
    bookmarks = [
        ("BOOKMARK", {"metadata": {"resourceVersion": "5", "annotations": value}}),
        ("BOOKMARK", {"metadata": {"resourceVersion": value}}),
        ("BOOKMARK", {"metadata": value}),
    ]
    state = [("ADDED", config_map("before", 1)), *bookmarks, initial_end(5)]
    check(*read([*state, *bookmarks, ("ADDED", config_map("after", 6))]))


@pytest.mark.parametrize("value", [None, *ODD])
@pytest.mark.parametrize("field", ["code", "reason", "message", "details", "causes"])
def test_rf2_an_odd_error_event_is_an_error_as_any(read, caplog, field, value):
    """The state is asked for again, after one pause at most, and nothing is broken."""
    base = {"kind": "Status", "code": 504, "details": {"retryAfterSeconds": 1}}
    if field == "causes":
        base["details"] = {"causes": value, "retryAfterSeconds": value}
    else:
        base[field] = value
    objs = [("ADDED", config_map(name, 1)) for name in ("before", "after")]
    informer, clock, _ = read(
        [objs[0], initial_end(3), ("ERROR", base)], [*objs, initial_end(5)]
    )
    assert names(informer) == ["after", "before"]
    assert clock.pauses <= 1
    assert [record for record in caplog.records if record.exc_info] == []
