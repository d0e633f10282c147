"""The embedded API server's knobs: faults, control path, restarts. Real HTTPS."""

import contextlib
import json
import ssl
import threading
from datetime import datetime

import pytest
import urllib3
from kubeapi import client_of, kube_server

from asoreconcile.testing import http
from asoreconcile.testing.kube import InjectedFault

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
TOKEN = "only-for-control"


@pytest.fixture
def served():
    with kube_server(control_token=TOKEN) as (kube, client):
        yield kube, client


@pytest.fixture
def control(served):
    kube, _ = served
    context = ssl.create_default_context(cadata=kube.ca_pem.decode())
    with urllib3.PoolManager(ssl_context=context, retries=False) as pool:

        def call(method, path, body=None, token=TOKEN):
            answer = pool.request(
                method,
                f"{kube.url}/_control/{path}",
                body=None if body is None else json.dumps(body),
                headers={"x-control-token": token},
            )
            return answer.status, json.loads(answer.data)

        yield call


def config_map(name):
    return {"metadata": {"name": name}, "data": {"k": "v" * 500}}


def test_the_control_path_has_a_token_of_its_own(served, control):
    kube, client = served
    assert control("GET", "counts", token=kube.token)[0] == 403
    assert control("GET", "counts", token="")[0] == 403
    assert control("GET", "counts")[0] == 200
    assert client.get("/_control/counts").status == 403


def test_without_a_control_token_nobody_controls():
    with kube_server() as (_, client):
        answer = client.call("GET", "/_control/counts", headers={"x-control-token": ""})
        assert answer.status == 403


def test_a_fault_told_by_http_strikes_and_is_counted(served, control):
    _, client = served
    status, told = control(
        "POST",
        "faults",
        {"verb": "list", "resource": "configmaps", "status": 429, "retry_after": 2},
    )
    assert status == 201
    refused = client.get(CONFIG_MAPS)
    refused.refused(429, "TooManyRequests")
    assert refused.headers["Retry-After"] == "2"
    client.get("/api/v1/namespaces").expect(200)
    _, listed = control("GET", "faults")
    assert [(f["fault"], f["hits"]) for f in listed["faults"]] == [(told["fault"], 1)]
    assert control("DELETE", f"faults/{told['fault']}") == (200, {"faults": []})
    client.get(CONFIG_MAPS).expect(200)
    assert control("DELETE", "faults/77")[0] == 404


@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("list configmaps 503", 503),
        ("list * 429:TooManyRequests:1", 429),
        ("* configmaps timeout", 504),
        ("list configmaps conflict", 409),
    ],
)
def test_a_fault_is_told_as_a_line_of_text(served, control, script, status):
    _, client = served
    assert control("POST", "fault", {"script": script})[0] == 200
    assert [client.get(CONFIG_MAPS).status for _ in range(2)] == [status, 200]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("fault", {"script": "list configmaps"}),
        ("fault", {"script": "look configmaps 500"}),
        ("fault", {"script": "list configmaps explode"}),
        ("faults", {"colour": "red"}),
        ("read-only", {}),
        ("clock", {"advanceSeconds": "soon"}),
        ("restart", {"outage_seconds": -1}),
    ],
)
def test_a_wish_that_is_none_is_refused_with_the_reason(control, path, body):
    status, answer = control("POST", path, body)
    assert status == 400
    assert len(answer["error"]) > 10


@pytest.mark.parametrize("phase", ["before", "after"])
def test_a_lost_connection_before_or_after_the_write(served, phase):
    kube, client = served
    kube.faults.plan(InjectedFault(verb="create", drop=phase, times=1))
    with pytest.raises(urllib3.exceptions.ProtocolError):
        client.post(CONFIG_MAPS, config_map("one"))
    found = client.get(f"{CONFIG_MAPS}/one").status
    assert found == (404 if phase == "before" else 200)


def test_a_reset_comes_in_the_middle_of_an_answer(served):
    kube, client = served
    client.post(CONFIG_MAPS, config_map("one")).expect(201)
    kube.faults.script("list configmaps cut:100")
    with pytest.raises((urllib3.exceptions.ProtocolError, ConnectionResetError)):
        client.get(CONFIG_MAPS)
    client.get(CONFIG_MAPS).expect(200)


def test_a_dripping_answer_comes_whole(served):
    kube, client = served
    client.post(CONFIG_MAPS, config_map("one")).expect(201)
    whole = client.get(CONFIG_MAPS).json
    kube.faults.plan(InjectedFault(verb="list", drip_bytes=50, drip_seconds=0.0))
    assert client.get(CONFIG_MAPS).json == whole


def test_read_only_refuses_writes_alone(served, control):
    _, client = served
    client.post(CONFIG_MAPS, config_map("one")).expect(201)
    control("POST", "read-only", {"on": True})
    client.post(CONFIG_MAPS, config_map("two")).expect(500)
    client.patch(f"{CONFIG_MAPS}/one", {"data": {"a": "b"}}).expect(500)
    answer = client.delete(f"{CONFIG_MAPS}/one").expect(500)
    assert answer.json["message"] == "etcdserver: mvcc: database space exceeded"
    client.get(f"{CONFIG_MAPS}/one").expect(200)
    control("POST", "read-only", {"on": False})
    client.post(CONFIG_MAPS, config_map("two")).expect(201)


def test_the_clock_of_timestamps_is_put_forward(served, control):
    _, client = served

    def created(name):
        made = client.post(CONFIG_MAPS, config_map(name)).expect(201).json
        return datetime.fromisoformat(made["metadata"]["creationTimestamp"])

    before = created("one")
    control("POST", "clock", {"advanceSeconds": 7200})
    ahead = (created("two") - before).total_seconds()
    assert 7200 <= ahead < 7260


def test_forgotten_changes_make_watches_from_before_expire(served, control):
    _, client = served
    version = client.post(CONFIG_MAPS, config_map("one")).expect(201).rv
    client.post(CONFIG_MAPS, config_map("two")).expect(201)
    control("POST", "forget-changes")
    with client.watch(CONFIG_MAPS, resourceVersion=version) as events:
        event = next(events)
    assert event["type"] == "ERROR"
    assert event["object"]["code"] == 410


def test_the_journal_tells_verbs_resources_and_users(served, control):
    _, client = served
    client.post(CONFIG_MAPS, config_map("one")).expect(201)
    _, answer = control("GET", "journal?after=0")
    last = answer["entries"][-1]
    assert (last["verb"], last["resource"]) == ("create", "configmaps")
    assert (last["namespace"], last["user"], last["status"]) == (
        "default",
        "admin",
        201,
    )
    _, counts = control("GET", "counts")
    assert counts["byVerb"] == {"create": 1}


def test_a_restart_cuts_watches_and_keeps_objects_and_versions(served):
    kube, client = served
    made = client.post(CONFIG_MAPS, config_map("one")).expect(201)
    watching = threading.Event()
    ended = []

    def follow():
        with (
            contextlib.suppress(urllib3.exceptions.HTTPError),
            client.watch(CONFIG_MAPS, resourceVersion=made.rv) as events,
        ):
            watching.set()
            for _ in events:
                pass
        ended.append(True)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    assert watching.wait(10)
    url = kube.url
    kube.restart()
    thread.join(10)
    assert ended
    assert kube.url == url
    with client_of(kube) as again:
        assert again.get(f"{CONFIG_MAPS}/one").expect(200).rv == made.rv


def test_a_restart_by_http_answers_first(served, control, monkeypatch):
    kube, _ = served
    gone = threading.Event()
    closed = kube.restart
    answer = http._Connection._answer

    def slow(connection, request, response):
        gone.wait(0.2)
        return answer(connection, request, response)

    monkeypatch.setattr(http._Connection, "_answer", slow)

    def restart(outage_seconds=0.0):
        closed(outage_seconds)
        gone.set()

    kube.restart = restart
    assert control("POST", "restart", {"outage_seconds": 0})[0] == 200
    assert gone.wait(10)
    with client_of(kube) as again:
        again.get("/api/v1/namespaces/default").expect(200)
