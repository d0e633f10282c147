"""A recording as an Azure to ask: what is answered when, and what did not fit."""

import io
import json
import tarfile

import pytest

from asoreconcile.testing.arm.session import ArmSession
from asoreconcile.testing.replay import (
    ReplayServer,
    exchange_of,
    read_recordings,
)
from asoreconcile.testing.replay.bodies import differences
from asoreconcile.testing.replay.script import fewest_requests, script_of

HOST = "https://management.azure.com"
GROUP = "/subscriptions/0000/resourceGroups/rg"
NETWORK = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/v"
MONITOR = f"{HOST}/subscriptions/0000/providers/Microsoft.Network/operations/o"
API = "2024-01-01"
SENT = {"location": "a", "properties": {"password": "{PASSWORD}"}}


def said(method, path, status, answer=None, *, body=None, **headers):
    url = path if path.startswith("https:") else f"{HOST}{path}"
    return {
        "method": method,
        "url": f"{url}?api-version={API}&t=1&s=signed",
        "request_body": body,
        "status": status,
        "headers": {name.replace("_", "-"): value for name, value in headers.items()},
        "body": answer,
    }


def network(state):
    return {"id": NETWORK, "properties": {"provisioningState": state}}


RECORDED = [
    said("PUT", GROUP, 201, {"id": GROUP}, body={"location": "a"}),
    said("PUT", NETWORK, 400, {"error": {"code": "NotYet"}}, body=SENT),
    said("PUT", NETWORK, 400, {"error": {"code": "NotYet"}}, body=SENT),
    said(
        "PUT",
        NETWORK,
        201,
        network("Updating"),
        body=SENT,
        Azure_AsyncOperation=f"{MONITOR}?api-version={API}&t=1",
        Retry_After="30",
    ),
    said("GET", MONITOR, 200, {"status": "InProgress"}, Retry_After="30"),
    said("GET", MONITOR, 200, {"status": "InProgress"}),
    said("GET", MONITOR, 200, {"status": "Succeeded"}),
    said("GET", NETWORK, 200, network("Succeeded")),
    said("POST", f"{NETWORK}/listKeys", 200, {"key": "{KEY}"}),
    said("DELETE", GROUP, 202, Location=f"{MONITOR}2?api-version={API}"),
    said("GET", f"{MONITOR}2", 202),
    said("GET", f"{MONITOR}2", 200),
    said("GET", NETWORK, 404, {"error": {"code": "ResourceGroupNotFound"}}),
]
EXCHANGES = [exchange_of(raw) for raw in RECORDED]


@pytest.fixture
def azure():
    with ReplayServer(EXCHANGES, retry_after_seconds=0) as server:
        yield server


@pytest.fixture
def session(azure):
    token = azure.entra.issue(azure.client_id)
    with ArmSession(azure.url, ca_pem=azure.ca_pem, token=token) as signed_in:
        yield signed_in


def put(session, path, body):
    return session.put(path, json=body, api_version=API)


def made(session):
    """Play the recording to where the network is there."""
    assert put(session, GROUP, {"location": "a"}).status_code == 201
    sent = {"location": "a", "properties": {"password": "any"}}
    assert put(session, NETWORK, sent).status_code == 400
    return put(session, NETWORK, sent)


def test_a_recording_is_played_as_it_was(azure, session):
    accepted = made(session)
    assert (accepted.status_code, accepted.headers["Retry-After"]) == (201, "0")
    monitor = accepted.headers["Azure-AsyncOperation"]
    assert monitor.startswith(f"{azure.url}/subscriptions/0000/")
    words = [session.get(monitor).json()["status"] for _ in range(3)]
    assert words == ["InProgress", "Succeeded", "Succeeded"]
    shown = session.get(NETWORK, api_version=API).json()
    assert shown["properties"]["provisioningState"] == "Succeeded"
    keys = session.post(f"{NETWORK}/listKeys", api_version=API)
    assert keys.json() == {"key": "{KEY}"}
    summary = azure.summary()
    assert summary.left == (GROUP, NETWORK)
    assert not any(
        (summary.mismatches, summary.unmatched, summary.unanswered, summary.not_sent)
    )
    assert summary.requests == {"PUT": 3, "GET": 4, "POST": 1}


def test_a_deletion_ends_with_its_last_poll_and_takes_all_below(azure, session):
    made(session)
    monitor = session.delete(GROUP, api_version=API).headers["Location"]
    assert session.get(monitor).status_code == 202
    assert session.get(NETWORK, api_version=API).status_code == 200
    assert session.get(monitor).status_code == 200
    assert session.get(NETWORK, api_version=API).status_code == 404
    assert azure.summary().left == ()


def test_a_deletion_that_nobody_recorded_works(azure, session):
    made(session)
    assert session.delete(NETWORK, api_version=API).status_code == 200
    assert session.get(NETWORK, api_version=API).status_code == 404
    assert session.delete(NETWORK, api_version=API).status_code == 404


def test_what_is_not_there_yet_is_404_and_so_is_what_is_below_it(session):
    assert session.get(NETWORK, api_version=API).status_code == 404
    assert put(session, NETWORK, SENT).json()["error"]["code"] == (
        "ParentResourceNotFound"
    )


def test_a_body_that_differs_is_told_with_the_place(azure, session):
    made(session)
    put(session, NETWORK, {"location": "b", "properties": {"password": "any"}})
    (mismatch,) = azure.summary().mismatches
    assert mismatch.endswith("location: sent 'b', recorded 'a'")


def test_what_the_recording_lacks_is_told(azure, session):
    put(session, f"{GROUP}/providers/A.B/c/d", {})
    session.get(f"{GROUP}/providers/A.B/c/d", api_version=API)
    summary = azure.summary()
    assert [text.split()[0] for text in summary.unmatched] == ["PUT"]
    assert [text.split()[0] for text in summary.unanswered] == ["GET"]
    assert len(summary.not_sent) == 2


def test_repeats_are_cut_and_the_fewest_requests_counted():
    script = script_of(EXCHANGES)
    assert sorted(len(takes) for takes in script.puts.values()) == [1, 2]
    assert fewest_requests(script) == {"PUT": 3, "POST": 1, "GET": 3}


def test_strangers_are_401(azure):
    with ArmSession(azure.url, ca_pem=azure.ca_pem, token="") as nobody:
        assert nobody.get(GROUP, api_version=API).status_code == 401  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("recorded", "sent", "said"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": "{PASSWORD}"}, {"a": "x"}, []),
        ({"a": "{PASSWORD}"}, {"a": ""}, ["a: sent '', recorded '{PASSWORD}'"]),
        ({"a": 1}, {}, ["a: missing, recorded 1"]),
        ({}, {"a": 1}, ["a: sent 1, recorded nothing"]),
        ({"a": [1]}, {"a": [1, 2]}, ["a: sent 2 items, recorded 1"]),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, ["a[0].b: sent 2, recorded 1"]),
        ({"a": 1}, {"a": True}, ["a: sent True, recorded 1"]),
        (None, {}, ["body: sent {}, recorded None"]),
    ],
)
def test_bodies_are_compared_as_json(recorded, sent, said):
    assert differences(recorded, sent) == said


def test_recordings_are_read_from_their_archive(tmp_path):
    content = json.dumps({"name": "one", "exchanges": RECORDED}).encode()
    with tarfile.open(tmp_path / "all.tar.xz", "w:xz") as archive:
        for name in ("one", "other"):
            member = tarfile.TarInfo(f"recordings/{name}.json")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    found = read_recordings(tmp_path / "all.tar.xz", {"one", "missing"})
    assert found == {"one": EXCHANGES}
