"""Faults with a name: what a client sees of each, and that clearing ends it."""

import pytest

from asoreconcile.azure.cmd.sandbox_run import CHAOS
from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.arm.named_faults import NAMED
from asoreconcile.testing.clock import FakeClock

TYPE = "Microsoft.ManagedIdentity/userAssignedIdentities"
BODY = {"location": "westus2", "tags": {"a": "1"}, "sku": {"capacity": 1}}


@pytest.fixture
def azure():
    with ArmServer(clock=FakeClock()) as server:
        yield server


@pytest.fixture
def ask(session, group):
    def ask(method, body=None, name="one"):
        path = f"{group}/providers/{TYPE}/{name}"
        answer = session.request(method, path, json=body, api_version="2023-01-31")
        return answer.status_code, answer.json() if answer.content else None, answer

    return ask


def absent(azure, ask):
    assert (ask("PUT", BODY)[0], ask("GET")[0]) == (201, 404)
    azure.advance(6)
    assert ask("GET")[0] == 200


def lag(azure, ask):
    azure.faults.clear()
    ask("PUT", BODY)
    azure.script(f"lag={TYPE}")
    ask("PUT", {**BODY, "tags": {"b": "2"}})
    assert ask("GET")[1]["tags"] == {"a": "1"}
    azure.advance(6)
    assert ask("GET")[1]["tags"] == {"b": "2"}


def bad_name(azure, ask):
    found = [ask(method, BODY) for method in ("GET", "PUT", "DELETE")]
    assert {(s, b["error"]["code"]) for s, b, _ in found} == {
        (400, "InvalidResourceName")
    }


def merge(azure, ask):
    ask("PUT", BODY)
    ask("PUT", {**BODY, "tags": {"b": "2"}})
    assert ask("GET")[1]["tags"] == {"a": "1", "b": "2"}


def drop(azure, ask):
    azure.script(f"drop={TYPE},path=tags.a")
    ask("PUT", BODY)
    assert ask("GET")[1]["tags"] == {}


def autoscale(azure, ask):
    azure.faults.clear()
    azure.script(f"autoscale={TYPE},most=3")
    ask("PUT", BODY)
    shown = [ask("GET")[1]["sku"]["capacity"] for _ in range(3)]
    assert shown == [2, 3, 3]


def tag(azure, ask):
    ask("PUT", BODY)
    assert ask("GET")[1]["tags"] == {"a": "1", "policy": "on"}


def failed(azure, ask):
    azure.styles.change(TYPE, done="Succeeded")
    ask("PUT", BODY)
    states = []
    for _ in range(2):
        states.append(ask("GET")[1]["properties"]["provisioningState"])
        azure.advance(6)
    assert states == ["Succeeded", "Failed"]


def slow_delete(azure, ask):
    ask("PUT", BODY)
    assert ask("DELETE")[0] == 202
    azure.advance(299)
    assert ask("GET")[0] == 200
    azure.advance(2)
    assert ask("GET")[0] == 404


def no_headers(azure, ask):
    status, body, answer = ask("PUT", BODY)
    names = {name.lower() for name in answer.headers}
    assert (status, body) == (202, None)
    assert not names & {"location", "azure-asyncoperation", "retry-after"}


def quota(azure, ask):
    azure.faults.clear()
    azure.script(f"quota={TYPE},most=1")
    answers = [ask("PUT", BODY, name) for name in ("one", "two", "one")]
    assert [status for status, _, _ in answers] == [201, 409, 200]
    assert answers[1][1]["error"]["code"] == "QuotaExceeded"


def throttled(azure, ask):
    azure.script(f"throttled={TYPE},after=2")
    statuses = [ask("GET")[0] for _ in range(3)]
    _, _, answer = ask("GET")
    assert (statuses, answer.status_code) == ([404, 404, 429], 429)
    assert answer.headers["Retry-After"]
    assert answer.headers["x-ms-ratelimit-remaining-subscription-reads"] == "0"


def unregistered(azure, ask):
    assert ask("GET")[1]["error"]["code"] == "MissingSubscriptionRegistration"


def outage(azure, ask):
    assert ask("PUT", BODY)[0] == 503
    assert ask("PUT", {**BODY, "location": "eastus"}, "two")[0] == 201


@pytest.mark.parametrize("name", NAMED)
def test_a_named_fault_is_seen_by_a_client(azure, ask, name):
    azure.script(f"{name}={TYPE}")
    globals()[name.replace("-", "_")](azure, ask)


@pytest.mark.parametrize(
    ("line", "mistake"),
    [
        ("none=*", "none of"),
        ("lag=*,minutes=1", "has no"),
        ("lag=*,seconds=x", "convert"),
        ("lag=nothing", "no resource type"),
    ],
)
def test_a_wrong_named_fault_is_an_error(azure, line, mistake):
    with pytest.raises(ValueError, match=mistake):
        azure.script(line)


def test_the_sandboxs_chaos_plays_every_named_fault(azure):
    for line in CHAOS:
        azure.script(line)
    assert {line.partition("=")[0] for line in CHAOS} == set(NAMED)


def test_clearing_ends_a_named_fault(azure, ask):
    azure.script(f"bad-name={TYPE}")
    azure.faults.clear()
    assert ask("GET")[0] == 404
