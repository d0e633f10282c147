"""Faults and styles told to the simulator from outside, and what it tells."""

import threading

import pytest
import requests

from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.arm.scripted import parse_script
from asoreconcile.testing.clock import FakeClock

TOKEN = "look"
BODY = {"location": "westeurope", "properties": {}}
TYPE = "Microsoft.Network/virtualNetworks"


@pytest.fixture
def azure():
    with ArmServer(clock=FakeClock(), lro=10.0, control_token=TOKEN) as server:
        yield server


@pytest.fixture
def control(azure, tmp_path):
    azure.write_ca(tmp_path / "ca.pem")
    with requests.Session() as plain:
        plain.trust_env = False
        plain.verify = str(tmp_path / "ca.pem")
        plain.headers["x-control-token"] = TOKEN

        def ask(method, what, body=None):
            url = f"{azure.url}/_control/{what}"
            return plain.request(method, url, json=body, timeout=10)

        yield ask


@pytest.fixture
def network(azure):
    group = f"/subscriptions/{azure.subscription_id}/resourceGroups/rg"
    azure.seed(group, {"location": "westeurope"})
    return f"{group}/providers/{TYPE}/v"


def script(control, line):
    return control("POST", "fault", {"script": line})


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (f"PUT {TYPE} 409:Conflict", 409),
        (f"PUT {TYPE}:v 429:TooManyRequests:17", 429),
        (f"PUT {TYPE} timeout", 504),
        (f"PUT {TYPE} late", 504),
        ("PUT * 503", 503),
    ],
)
def test_a_scripted_refusal_comes_once(control, session, network, line, status):
    assert script(control, line).status_code == 200
    refused = session.put(network, json=BODY)
    assert refused.status_code == status
    if ":17" in line:
        assert refused.headers["Retry-After"] == "17"
    assert (session.get(network).status_code == 200) == ("late" in line)
    assert session.put(network, json=BODY).status_code in (200, 201)


def test_a_named_fault_lasts_until_it_is_cleared(control, session, network):
    assert script(control, f"quota={TYPE}").status_code == 200
    assert [session.put(network, json=BODY).status_code for _ in range(2)] == [409] * 2
    assert control("POST", "clear", {}).status_code == 200
    assert session.put(network, json=BODY).status_code == 201


@pytest.mark.parametrize(("what", "applied"), [("reset", False), ("lost", True)])
def test_a_scripted_break_of_the_connection(control, session, network, what, applied):
    script(control, f"PUT {TYPE} {what} x2")
    for _ in range(2):
        with pytest.raises(requests.ConnectionError):
            session.put(network, json=BODY)
    assert (session.get(network).status_code == 200) is applied


def test_a_scripted_silence_lasts_until_the_client_gives_up(control, session, network):
    script(control, f"GET {TYPE} stall")
    with pytest.raises(requests.ReadTimeout):
        session.get(network, timeout=0.2)
    assert session.get(network, timeout=10).status_code == 404


@pytest.mark.parametrize(
    ("what", "word"),
    [("fail:ServerIsBusy", "Failed"), ("cancel", "Canceled"), ("stuck", "InProgress")],
)
def test_a_scripted_end_of_an_operation(control, session, network, what, word):
    script(control, f"PUT {TYPE}:v {what}")
    monitor = session.put(network, json=BODY).headers["Azure-AsyncOperation"]
    assert control("POST", "clock", {"advanceSeconds": 3600}).status_code == 200
    ended = session.get(monitor).json()
    assert ended["status"] == word
    if word == "Failed":
        assert ended["error"]["code"] == "ServerIsBusy"


def test_a_scripted_status_that_cannot_be_read(control, session, network):
    script(control, f"PUT {TYPE} garbled:503")
    monitor = session.put(network, json=BODY).headers["Azure-AsyncOperation"]
    assert session.get(monitor).status_code == 503
    assert session.get(monitor).json()["status"] == "InProgress"


def test_another_name_is_not_met(control, session, network):
    script(control, f"PUT {TYPE}:other 409")
    assert session.put(network, json=BODY).status_code == 201


def test_a_style_is_told(control, session, network):
    assert control("POST", "style", {"type": TYPE, "style": "W5"}).status_code == 200
    assert session.put(network, json=BODY).headers["Location"] == network


def test_a_policy_is_told(control, session, network):
    control("POST", "policy", {"deny": "virtualNetworks", "name": "None here"})
    assert session.put(network, json=BODY).status_code == 403


def test_a_resource_is_taken_away(azure, control, network):
    azure.seed(network, BODY)
    control("POST", "remove", {"id": network})
    assert network not in control("GET", "resources").json()["resources"]


def test_the_journal_is_queried(azure, control, session, network):
    session.put(network, json=BODY)
    session.get(network)
    session.get(network + "x")
    found = control("GET", "journal?method=GET&path=/V&status=404").json()["entries"]
    assert [entry["path"] for entry in found] == [network + "x"]
    assert len(control("GET", "journal?after=2").json()["entries"]) == 1
    assert [e.status for e in azure.requests("GET", "/v")] == [200, 404]
    assert len(azure.requests(status=404)) == 1
    assert control("GET", "counts").json()["byMethod"] == {"PUT": 1, "GET": 2}


@pytest.mark.parametrize(
    ("what", "body", "said"),
    [
        ("fault", {"script": "PUT"}, "VERB TARGET WHAT"),
        ("fault", {"script": f"FETCH {TYPE} 409"}, "FETCH"),
        ("fault", {"script": f"PUT {TYPE} explode"}, "explode"),
        ("fault", {"script": f"PUT {TYPE} 200"}, "200"),
        ("fault", {"script": "PUT nonsense 409"}, "nonsense"),
        ("fault", {"script": "sloth=*"}, "none of"),
        ("fault", {}, "script"),
        ("style", {"type": TYPE, "style": "W0"}, "W26"),
        ("clock", {"advanceSeconds": "soon"}, "soon"),
    ],
)
def test_nonsense_is_answered_with_what_is_wrong(control, what, body, said):
    refused = control("POST", what, body)
    assert refused.status_code == 400
    assert said in refused.text


def test_unknown_paths_and_strangers_are_refused(azure, control):
    assert control("GET", "nothing").status_code == 404
    assert control("POST", "nothing", {}).status_code == 404
    azure._control._token = "other"
    assert control("GET", "counts").status_code == 403


def test_real_time_cannot_be_moved():
    with ArmServer(control_token=TOKEN) as azure, pytest.raises(ValueError, match="re"):
        azure.advance(1.0)


@pytest.mark.parametrize("line", ["put a/b 409 X3", "PUT a/b:c 409:Code:5 x3"])
def test_counts_are_read(line):
    assert parse_script(line).times == 3


def test_a_hold_stops_as_many_as_told(azure, session, network):
    hold = azure.faults.hold(method="GET", path="virtualNetworks", times=1)
    first = threading.Thread(target=lambda: session.get(network))
    first.start()
    assert hold.wait_arrived(10)
    with azure.session() as other:
        assert other.get(network).status_code == 404
    hold.release()
    first.join()
