"""Which requests a fault strikes, and what it does to answers: no server, no time."""

import threading
from typing import ClassVar

import pytest

from asoreconcile.testing.arm.faults import ArmFaults
from asoreconcile.testing.arm.scripted import plan
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.fault_injection import InjectedFault, parse, shown
from asoreconcile.testing.faults import Faults
from asoreconcile.testing.http import (
    DropConnection,
    HttpRequest,
    HttpResponse,
    ResetConnection,
)
from asoreconcile.testing.kube.controls.faults import KubeFaults
from asoreconcile.testing.latency import dripped

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"


class InstantClock(FakeClock):
    """Waits are over at once, and remembered."""

    waited: ClassVar[list[float]] = []

    def wait(self, event, timeout_seconds):
        self.waited.append(timeout_seconds)
        return event.is_set()


def request(method="GET", path=CONFIG_MAPS, **query):
    return HttpRequest(method, path, path, query, {}, b"")


def answer(_):
    return HttpResponse(200, b"0123456789")


def statuses(faults, *requests):
    return [faults.around(one, answer).status for one in requests]


def test_a_fault_strikes_after_and_times_by_count():
    faults = KubeFaults()
    faults.plan(InjectedFault(status=500, after=1, times=2))
    assert statuses(faults, *[request()] * 5) == [200, 500, 500, 200, 200]


@pytest.mark.parametrize(
    ("selected", "struck"),
    [
        ({"verb": "list"}, [True, False, False, False, False]),
        ({"verb": "watch"}, [False, True, False, False, False]),
        ({"resource": "configmaps"}, [True, True, True, False, False]),
        ({"resource": "widgets.example.com"}, [False, False, False, True, False]),
        ({"resource": "widgets.example.com/status"}, [False] * 4 + [True]),
        ({"verb": "patch", "path": "WIDGETS/one"}, [False, False, False, False, True]),
        ({"verb": "deletecollection"}, [False, False, True, False, False]),
    ],
    ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else "",
)
def test_a_fault_is_chosen_by_verb_resource_and_path(selected, struck):
    faults = KubeFaults()
    faults.plan(InjectedFault(status=503, **selected))
    found = statuses(
        faults,
        request(),
        request(watch="1"),
        request("DELETE"),
        request("POST", WIDGETS),
        request("PATCH", f"{WIDGETS}/one/status"),
    )
    assert [status == 503 for status in found] == struck


def test_a_share_strikes_the_same_requests_for_the_same_seed():
    def struck(seed):
        faults = Faults()
        faults.plan(InjectedFault(status=500, share=0.3, seed=seed))
        return statuses(faults, *[request()] * 50)

    first = struck(7)
    assert first == struck(7)
    assert first != struck(8)
    assert 5 < first.count(500) < 25


def test_a_throttled_request_is_told_when_to_come_again():
    faults = KubeFaults()
    faults.throttle(verb="list", retry_after=3)
    response = faults.around(request(), answer)
    assert response.status == 429
    assert response.headers["Retry-After"] == "3"
    assert b'"reason":"TooManyRequests"' in response.body
    assert b'"retryAfterSeconds":3' in response.body


def test_a_conflict_names_the_object_as_the_api_server_does():
    faults = KubeFaults()
    faults.conflict(resource="widgets.example.com")
    response = faults.around(request("PUT", f"{WIDGETS}/one"), answer)
    assert response.status == 409
    assert (
        b'Operation cannot be fulfilled on widgets.example.com \\"one\\": the object '
        b"has been modified" in response.body
    )


def test_a_lost_answer_is_of_a_request_that_was_applied():
    faults = Faults()
    faults.plan(InjectedFault(drop="after", times=1))
    applied = []

    def handle(one):
        applied.append(one)
        return answer(one)

    with pytest.raises(DropConnection):
        faults.around(request(), handle)
    assert len(applied) == 1


def test_a_reset_sends_so_much_of_the_body_and_no_more():
    faults = Faults()
    faults.plan(InjectedFault(reset_after_bytes=4))
    body = iter(faults.around(request(), answer).body)
    assert next(body) == b"0123"
    with pytest.raises(ResetConnection):
        next(body)


def test_a_body_shorter_than_the_reset_comes_whole():
    faults = Faults()
    faults.plan(InjectedFault(reset_after_bytes=10))
    assert b"".join(faults.around(request(), answer).body) == b"0123456789"


def test_a_drip_waits_before_each_piece():
    waits = []
    pieces = dripped([b"01234", b"", b"56789"], 4, lambda: waits.append(None))
    assert [(piece, len(waits)) for piece in pieces] == [
        (b"0123", 1),
        (b"4", 2),
        (b"5678", 3),
        (b"9", 4),
    ]


def test_a_drip_waits_by_the_clock():
    faults = Faults(clock=InstantClock())
    faults.plan(InjectedFault(drip_bytes=4, drip_seconds=1.5))
    assert list(faults.around(request(), answer).body) == [b"0123", b"4567", b"89"]
    assert InstantClock.waited == [1.5, 1.5, 1.5]


def test_closing_ends_delays(clock):
    faults = Faults(clock=clock)
    faults.plan(InjectedFault(delay_seconds=600))
    found = []
    waiter = threading.Thread(
        target=lambda: found.extend(statuses(faults, request())), daemon=True
    )
    waiter.start()
    clock.until_waiting()
    faults.release_all()
    waiter.join(10)
    assert found == [200]


def test_faults_are_told_and_cleared_by_number():
    faults = Faults()
    first, second = (
        faults.plan(InjectedFault(status=500)),
        faults.plan(InjectedFault(status=503)),
    )
    assert statuses(faults, request()) == [500]
    assert [hits for _, hits in faults.planned().values()] == [1, 1]
    faults.clear(first)
    assert statuses(faults, request()) == [503]
    faults.clear(second)
    assert statuses(faults, request()) == [200]
    with pytest.raises(KeyError):
        faults.clear(second)


def test_without_a_number_all_that_was_planned_is_over():
    faults = Faults()
    faults.plan(InjectedFault(status=500))
    faults.drop("GET", "/")
    faults.drop("GET", "/", phase="after")
    faults.respond("GET", "/", HttpResponse(503, b""))
    faults.clear()
    assert statuses(faults, request()) == [200]


@pytest.mark.parametrize(
    "what",
    ["500", "429:Busy:7", "reset", "lost", "timeout", "late", "fail", "cancel"],
)
def test_what_a_script_says_of_azure_is_over_as_well(what):
    group = "/subscriptions/s/resourceGroups/g"
    asked = request("PUT", f"{group}/providers/Microsoft.Network/virtualNetworks/v")
    faults = ArmFaults()
    plan(faults, f"PUT Microsoft.Network/virtualNetworks {what} x2")
    faults.busy("virtualNetworks")
    faults.hang_operation("virtualNetworks")
    faults.break_polls("virtualNetworks")
    faults.clear()
    assert statuses(faults, asked) == [200]
    for planned in (
        *(faults.failures, faults.stuck, faults.broken_polls),
        faults.refusals,
    ):
        assert planned.take(f"PUT {asked.path}") is None


def test_a_fault_is_the_same_as_json():
    mishap = InjectedFault(
        verb="list", status=429, retry_after=2, times=3, delay_seconds=1
    )
    document = shown(mishap)
    assert document == {
        "verb": "list",
        "status": 429,
        "retry_after": 2,
        "times": 3,
        "delay_seconds": 1,
    }
    assert parse(document) == mishap


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ([], "JSON object"),
        ({"verbs": "list"}, "no 'verbs'; it has: verb, "),
        ({"status": "500"}, "status must be int"),
        ({"status": True}, "status must be int"),
        ({"status": 42}, "status"),
        ({"times": -1}, "times must not be negative"),
        ({"times": 1.5}, "times must be int"),
        ({"delay_seconds": 1e9}, "delay_seconds must be 0 to 600"),
        ({"delay_seconds": float("nan")}, "delay_seconds must be 0 to 600"),
        ({"path": "("}, "no regular expression"),
        ({"drop": "later"}, "drop"),
    ],
)
def test_what_is_no_fault_is_refused_with_the_reason(document, complaint):
    with pytest.raises(ValueError, match=complaint):
        parse(document)
