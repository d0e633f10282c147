"""The ARM client over HTTP: what it sends, what it refuses to send, what comes out."""

import json
import logging
import threading
import time
import traceback
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor

import orjson
import pytest
import requests
import responses
from azure.core.credentials import AccessToken
from azure.core.exceptions import (
    ClientAuthenticationError,
    ServiceRequestError,
    ServiceResponseError,
)
from azure.core.pipeline.transport import RequestsTransport
from prometheus_client import CollectorRegistry
from quickclock import QuickClock

from asoreconcile.azure.arm.bearer import ForeignHostError, TokenCache, challenge_claims
from asoreconcile.azure.arm.budget import Budget, ThrottledError
from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.correlation import correlated
from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.arm.metrics import ArmMetrics
from asoreconcile.azure.arm.outcomes import (
    Failed,
    OperationDone,
    Pending,
    Progress,
    ReadResource,
    Restart,
)
from asoreconcile.azure.arm.request_headers import HeaderError
from asoreconcile.azure.arm.tokens import DELETE, RESOURCE, Token, TokenShape
from asoreconcile.base.errors import StoppedError
from asoreconcile.base.reconcile_context import Context, running
from asoreconcile.base.stop_signal import StopSignal
from asoreconcile.testing.clock import FakeClock

HOST = "https://management.azure.com"
ID = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Net/things/n"
URL = HOST + ID
MONITOR = f"{HOST}/subscriptions/s/providers/Microsoft.Net/operations/o"
EVIL = "https://evil.example/operations/o"
CANARY = "canary-token-9f8e7d"
SCOPE = "https://management.core.windows.net//.default"


class Credential:
    """Hands out numbered tokens and counts who asks."""

    def __init__(self, lifetime_seconds=3600, error=None):
        self.asked = []
        self.lifetime_seconds = lifetime_seconds
        self.error = error
        self.slow = threading.Event()
        self.slow.set()

    def get_token(self, *scopes, claims=None, **options):
        self.asked.append((scopes, claims, options))
        number = len(self.asked)
        self.slow.wait(10)
        if self.error is not None:
            raise self.error
        return AccessToken(
            f"{CANARY}-{number}", int(time.time() + self.lifetime_seconds)
        )


@pytest.fixture
def azure():
    with responses.RequestsMock() as mock:
        yield mock


@pytest.fixture
def credential():
    return Credential()


def connected(credential, **options):
    """A client of what `azure` says."""
    options = {"transport": RequestsTransport(), **options}
    return ArmClient(HOST, credential, scope=SCOPE, **options)


@pytest.fixture
def registry():
    return CollectorRegistry()


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def client(credential, registry, clock):
    made = connected(
        credential,
        clock=clock,
        metrics=ArmMetrics(registry),
        user_agent="suffix/1",
    )
    yield made
    made.close()


def pending(url=MONITOR, **members):
    return Token(TokenShape.ASYNC, RESOURCE, url, "InProgress", method="PUT", **members)


def test_get_returns_the_resource(azure, client):
    azure.get(f"{URL}?api-version=2024-01-01", json={"id": ID}, match_querystring=None)
    assert client.get(ID, "2024-01-01") == {"id": ID}


def test_get_raises_what_azure_says(azure, client):
    azure.get(URL, status=404, json={"error": {"code": "ResourceNotFound"}})
    with pytest.raises(ArmError) as caught:
        client.get(ID, "1")
    assert (caught.value.status, caught.value.code) == (404, "ResourceNotFound")


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"<html>", b'{"id":'])
def test_a_get_that_is_no_object_is_an_error_naming_the_request(azure, client, body):
    azure.get(URL, body=body)
    with pytest.raises(ArmError, match=r"GET https://management\.azure\.com"):
        client.get(ID, "1")


@pytest.mark.parametrize(
    ("status", "exists"),
    [
        pytest.param(200, True, id="D17-200"),
        pytest.param(204, True, id="D17-204"),
        pytest.param(404, False, id="D17-404"),
    ],
)
def test_d17_v4_head_says_whether_it_exists(azure, client, status, exists):
    azure.head(URL, status=status)
    assert client.head(ID, "1") is exists


@pytest.mark.parametrize("status", [403, 405, 500])
def test_d17_any_other_head_is_an_error(azure, client, status):
    azure.head(URL, status=status)
    with pytest.raises(ArmError):
        client.head(ID, "1")


def test_put_sends_json_and_returns_the_outcome(azure, client):
    azure.put(
        URL,
        status=201,
        headers={"Azure-AsyncOperation": MONITOR, "Retry-After": "15"},
        json={"id": ID},
    )
    outcome = client.put(ID, "2024-01-01", {"location": "westus"})
    assert isinstance(outcome, Pending)
    assert outcome.delay_seconds == 15
    assert outcome.token.original_url == f"{URL}?api-version=2024-01-01"
    sent = azure.calls[0].request
    assert json.loads(sent.body) == {"location": "westus"}
    assert sent.headers["Content-Type"] == "application/json"


def test_a_refused_put_raises_and_a_failed_one_is_an_outcome(azure, client):
    azure.put(URL, status=409, json={"error": {"code": "Conflict", "message": "m"}})
    with pytest.raises(ArmError):
        client.put(ID, "1", {})
    body = {"id": ID, "properties": {"provisioningState": "Failed"}}
    azure.put(URL, status=200, json=body)
    assert isinstance(client.put(ID, "1", {}), Failed)


@pytest.mark.parametrize("status", [408, 429, 500, 503, 504])
def test_one_request_a_call_whatever_retry_after_says(azure, client, status):
    azure.put(URL, status=status, headers={"Retry-After": "1"}, json={})
    with pytest.raises(ArmError) as caught:
        client.put(ID, "1", {})
    assert caught.value.retry_after_seconds == 1
    assert len(azure.calls) == 1


def test_v10_redirects_are_not_followed(azure, client):
    azure.get(URL, status=307, headers={"Location": EVIL})
    with pytest.raises(ArmError) as caught:
        client.get(ID, "1")
    assert caught.value.status == 307
    assert len(azure.calls) == 1


def test_v5_delete_of_what_is_not_there_is_done(azure, client):
    azure.delete(URL, status=404, json={"error": {"code": "ResourceGroupNotFound"}})
    assert client.delete(ID, "1") == OperationDone()


def test_de4_delete_takes_query_and_headers_and_sends_no_if_match_itself(azure, client):
    azure.delete(URL, status=200)
    client.delete(ID, "1")
    client.delete(
        ID, "1", query={"deleteSubscriptions": "true"}, headers={"If-Match": "*"}
    )
    plain, special = (call.request for call in azure.calls)
    assert "If-Match" not in plain.headers
    assert special.headers["If-Match"] == "*"
    assert special.url.endswith("?api-version=1&deleteSubscriptions=true")


def test_h3_conditions_are_sent_only_when_asked_for(azure, client):
    azure.put(URL, json={}, headers={"ETag": 'W/"1"'})
    client.put(ID, "1", {})
    client.put(ID, "1", {}, headers={"If-Match": 'W/"1"'})
    plain, special = (call.request for call in azure.calls)
    assert not {"If-Match", "If-None-Match"} & plain.headers.keys()
    assert special.headers["If-Match"] == 'W/"1"'


def test_h3_a_condition_that_is_not_met_is_a_refusal(azure, client):
    azure.put(URL, status=412, json={"error": {"code": "PreconditionFailed"}})
    with pytest.raises(ArmError) as caught:
        client.put(ID, "1", {}, headers={"If-Match": '"old"'})
    assert (caught.value.status, caught.value.code) == (412, "PreconditionFailed")


def test_v7_post_returns_the_actions_answer(azure, client):
    azure.post(f"{URL}/listKeys", json={"keys": [1]})
    assert client.post(f"{ID}/listKeys", "1") == OperationDone({"keys": [1]})


def test_poll_reads_the_monitor_once(azure, client):
    azure.get(MONITOR, json={"status": "Succeeded"})
    assert client.poll(pending()) == OperationDone(settled=True)


def test_d3_l15_a_poll_without_an_answer_keeps_the_token(azure, client):
    azure.get(MONITOR, body=requests.ReadTimeout("slow"))
    outcome = client.poll(pending(), Progress(polls=1))
    assert isinstance(outcome, Pending)
    assert outcome.token == pending()
    assert isinstance(outcome.read_error, ArmTransportError)


def test_l21_a_token_from_an_annotation_cannot_send_us_elsewhere(client, credential):
    assert client.poll(pending(EVIL)) == ReadResource(
        "monitor on a foreign host", deleting=False
    )
    removal = Token(TokenShape.LOCATION, DELETE, EVIL, "InProgress")
    assert client.poll(removal) == ReadResource(
        "monitor on a foreign host", deleting=True
    )
    assert not credential.asked


def test_l16_judge_reads_the_resource(azure, client):
    azure.get(URL, status=404, json={"code": "NotFound"})
    assert isinstance(client.judge(ID, "1", deleting=False), Restart)
    assert client.judge(ID, "1", deleting=True) == OperationDone()
    azure.replace(responses.GET, URL, status=403, json={})
    with pytest.raises(ArmError):
        client.judge(ID, "1", deleting=True)


def test_q1_lists_are_read_page_by_page(azure, client):
    path = "/subscriptions/s/resources"
    second = f"{HOST}{path}/next?$skiptoken=a%3db"
    azure.get(HOST + path, json={"value": [{"id": "1"}], "nextLink": second})
    azure.get(second, json={"value": [], "nextLink": f"{HOST}/third"})
    azure.get(f"{HOST}/third", json={"value": [{"id": "2"}], "nextLink": ""})
    found = client.list(path, "1", query={"$filter": "a eq 'b'"})
    assert next(found) == {"id": "1"}
    assert len(azure.calls) == 1
    assert list(found) == [{"id": "2"}]


@pytest.mark.parametrize("end", [{}, {"nextLink": None}, {"nextLink": ""}])
def test_q1_ends_of_a_list(azure, client, end):
    azure.get(f"{HOST}/x", json={"value": [{}], **end})
    assert list(client.list("/x", "1")) == [{}]


def test_h4_q1_a_next_page_on_a_foreign_host_is_not_read(azure, client):
    azure.get(f"{HOST}/x", json={"value": [], "nextLink": EVIL})
    with pytest.raises(ForeignHostError):
        list(client.list("/x", "1"))
    assert len(azure.calls) == 1


def test_q1_a_list_that_leads_in_a_circle_ends(azure, client):
    azure.get(f"{HOST}/x", json={"value": [], "nextLink": f"{HOST}/y"})
    azure.get(f"{HOST}/y", json={"value": [], "nextLink": f"{HOST}/y"})
    with pytest.raises(ArmError, match="in a circle after 2 pages"):
        list(client.list("/x", "1"))
    assert len(azure.calls) == 2


def test_h1_errors_have_the_ids_that_were_sent_where_nobody_repeats_them(azure, client):
    azure.get(URL, status=502, body="<html>gone</html>")
    azure.put(URL, body=requests.ConnectionError("reset"))
    with correlated("11111111-1111-1111-1111-111111111111") as sent:
        with pytest.raises(ArmError) as refused:
            client.get(ID, "1")
        with pytest.raises(ArmTransportError) as unanswered:
            client.put(ID, "1", {})
    for call, error in zip(azure.calls, (refused.value, unanswered.value), strict=True):
        assert error.correlation_id == sent  # type: ignore[attr-defined]
        client_request_id = call.request.headers["x-ms-client-request-id"]
        assert error.client_request_id == client_request_id  # type: ignore[attr-defined]


def sent_ids(azure):
    return [c.request.headers["x-ms-client-request-id"] for c in azure.calls]


def test_h1_one_id_for_a_call_its_polls_and_the_read_instead_of_them(azure, client):
    accepted = {"Azure-AsyncOperation": MONITOR}
    azure.delete(URL, status=202, headers=accepted)
    running = client.delete(ID, "1")
    azure.get(MONITOR, json={"status": "Running"})
    running = client.poll(running.token, running.progress)
    azure.get(URL, json={"properties": {"provisioningState": "Updating"}})
    read = client.judge(ID, "1", deleting=False, progress=running.progress)
    client.poll(read.token, read.progress)
    assert len(azure.calls) == 4
    assert len(set(sent_ids(azure))) == 1
    assert read.progress.polls == 2


@pytest.mark.parametrize("name", ["x-ms-client-request-id", "X-Ms-Client-Request-Id"])
def test_h1_the_callers_own_id_is_kept_on_the_polls(azure, client, name):
    azure.delete(URL, status=202, headers={"Azure-AsyncOperation": MONITOR})
    running = client.delete(ID, "1", headers={name: "mine", "If-Match": "*"})
    azure.get(MONITOR, json={"status": "Running"})
    client.poll(running.token, running.progress)
    assert sent_ids(azure) == ["mine", "mine"]
    assert azure.calls[0].request.headers["If-Match"] == "*"


def test_h1_the_pages_of_a_list_are_one_call(azure, client):
    azure.get(URL, json={"value": [], "nextLink": f"{HOST}/next?page=2"})
    azure.get(f"{HOST}/next", json={"value": [{"name": "a"}]})
    assert list(client.list(ID, "1")) == [{"name": "a"}]
    assert list(client.list(ID, "1")) == [{"name": "a"}]
    first, second, third, fourth = sent_ids(azure)
    assert first == second != third == fourth


def test_an_answer_to_judge_that_is_a_page_decides_nothing(azure, client):
    """A proxy's 200: whether the resource failed, only Azure says."""
    azure.get(URL, body="<html>Sign in</html>")
    with pytest.raises(ArmError, match="not JSON"):
        client.judge(ID, "1", deleting=False)


def test_t9_an_operation_is_counted_once_however_it_is_watched(azure, credential):
    clock = FakeClock()
    budget = Budget(clock)
    client = connected(credential, clock=clock, budget=budget)
    azure.put(URL, status=201, headers={"Azure-AsyncOperation": MONITOR}, json={})
    running = client.put(ID, "1", {})
    azure.get(MONITOR, json={"status": "Running"})
    azure.get(URL, json={"properties": {"provisioningState": "Updating"}})
    for _ in range(3):
        running = client.poll(running.token, running.progress)
    read = client.judge(ID, "1", deleting=False, progress=running.progress)
    for _ in range(3):
        read = client.poll(read.token, read.progress)
    assert budget.operations.count("s") == 1
    client.close()


def test_h1_h2_headers_of_each_request(azure, client):
    azure.put(URL, status=202, headers={"Azure-AsyncOperation": MONITOR})
    azure.get(MONITOR, json={"status": "InProgress"})
    with correlated("11111111-1111-1111-1111-111111111111"):
        outcome = client.put(ID, "1", {})
        client.poll(outcome.token, outcome.progress)
    azure.get(URL, json={})
    client.get(ID, "1")
    put, poll, get = (call.request.headers for call in azure.calls)
    assert put["x-ms-client-request-id"] == poll["x-ms-client-request-id"]
    assert put["x-ms-client-request-id"] != get["x-ms-client-request-id"]
    correlation = "11111111-1111-1111-1111-111111111111"
    assert put["x-ms-correlation-request-id"] == correlation
    assert poll["x-ms-correlation-request-id"] == correlation
    assert "x-ms-correlation-request-id" not in get
    assert put["User-Agent"].startswith("azsdk-python-core/")
    assert put["User-Agent"].endswith(" suffix/1")
    assert " asoreconcile/" in put["User-Agent"]


def test_one_token_is_fetched_for_all_threads(azure, client, credential):
    azure.get(URL, json={})
    credential.slow.clear()
    with ThreadPoolExecutor(8) as pool:
        running = [pool.submit(client.get, ID, "1") for _ in range(8)]
        credential.slow.set()
        for call in running:
            call.result()
    assert [scopes for scopes, _, _ in credential.asked] == [(SCOPE,)]


def test_a_token_about_to_end_is_fetched_anew(azure, client, credential, clock):
    azure.get(URL, json={})
    credential.lifetime_seconds = 10
    client.get(ID, "1")
    clock.advance(10)
    client.get(ID, "1")
    assert len(credential.asked) == 2


@pytest.mark.parametrize("lifetime_seconds", [-3600, 0, 10, 120])
def test_what_an_authority_has_just_given_is_not_asked_for_again(
    azure, client, credential, clock, lifetime_seconds
):
    """Of a clock that is wrong, or an authority that has only this one: each request
    would sign in, and be throttled for it.
    """
    azure.get(URL, json={})
    credential.lifetime_seconds = lifetime_seconds
    for _ in range(5):
        assert client.get(ID, "1") == {}
    assert len(credential.asked) == 1
    clock.advance(10)
    client.get(ID, "1")
    client.get(ID, "1")
    assert len(credential.asked) == 2


def test_th9_a_sign_in_that_fails_frees_all_who_wait_for_it():
    """Under a lock twelve workers failed one after another: liveness ended the pod."""
    credential, clock = (
        Credential(error=ClientAuthenticationError("refused")),
        FakeClock(),
    )
    credential.slow.clear()
    tokens, raised = TokenCache(credential, SCOPE, clock=clock), []

    def worker():
        try:
            with running(Context(clock)):
                tokens.get()
        except CredentialError as error:
            raised.append(str(error))

    threads = [threading.Thread(target=worker) for _ in range(12)]
    for thread in threads:
        thread.start()
    clock.until_waiting(12)
    credential.slow.set()
    for thread in threads:
        thread.join(10)
    assert raised == ["no token for Azure: refused"] * 12
    assert len(credential.asked) == 1


@pytest.mark.parametrize(
    ("errors", "asked"),
    [
        ([ServiceRequestError("no route")], 2),
        ([ServiceRequestError("no route"), ServiceResponseError("cut")], 3),
        ([ClientAuthenticationError("refused")], 1),
        ([ServiceRequestError("no route")] * 3, 3),
    ],
    ids=["once", "twice", "refused", "for ever"],
)
def test_a_first_sign_in_outlives_a_moment_s_trouble(errors, asked):
    clock, left = QuickClock(), list(errors)

    class Struggling(Credential):
        def get_token(self, *scopes, **options):
            self.error = left.pop(0) if left else None
            return super().get_token(*scopes, **options)

    credential = Struggling()
    tokens = TokenCache(credential, SCOPE, clock=clock)
    if len(errors) < asked:
        assert tokens.get().token.startswith(CANARY)
    else:
        with pytest.raises(CredentialError):
            tokens.get()
    assert len(credential.asked) == asked
    assert len(clock.pauses) == asked - 1
    assert all(pause <= 1.2 for pause in clock.pauses)


def test_a_token_is_renewed_without_a_second_try():
    """There is one to go on with: who waits is told at once."""
    clock, credential = QuickClock(), Credential(lifetime_seconds=10)
    tokens = TokenCache(credential, SCOPE, clock=clock)
    tokens.get()
    credential.error = ServiceRequestError("no route")
    later = time.monotonic() + 10
    clock.monotonic = lambda: later
    with pytest.raises(CredentialError):
        tokens.get()
    assert clock.pauses == []


@pytest.mark.parametrize("reason", ["deadline", "stop"])
def test_th9_nobody_waits_for_a_sign_in_beyond_the_own_time(azure, reason):
    credential, clock, stop = Credential(), FakeClock(), StopSignal()
    credential.slow.clear()
    client = connected(credential, clock=clock)
    raised = []

    def worker():
        try:
            with running(Context(clock, deadline=2.0, stop=stop)):
                client.get(ID, "1")
        except (ArmTransportError, StoppedError) as error:
            raised.append(type(error))

    thread = threading.Thread(target=worker)
    thread.start()
    clock.until_waiting()
    stop.stop() if reason == "stop" else clock.advance(2)
    thread.join(10)
    credential.slow.set()
    client.close()
    assert raised == [StoppedError if reason == "stop" else ArmTransportError]


def test_a_token_near_its_end_survives_a_refusal_to_renew(
    azure, client, credential, clock
):
    azure.get(URL, json={})
    credential.lifetime_seconds = 120
    client.get(ID, "1")
    clock.advance(10)
    credential.error = ClientAuthenticationError("no")
    assert client.get(ID, "1") == {}
    assert len(credential.asked) == 2


def test_e8_a_401_is_answered_once_with_another_token(azure, client, credential):
    challenge = 'Bearer authorization_uri="x", claims="eyJhIjoxfQ=="'
    azure.get(URL, status=401, headers={"WWW-Authenticate": challenge}, json={})
    azure.get(URL, json={"id": ID})
    assert client.get(ID, "1") == {"id": ID}
    assert credential.asked[1][1] == '{"a":1}'
    used = [call.request.headers["Authorization"] for call in azure.calls]
    assert used == [f"Bearer {CANARY}-1", f"Bearer {CANARY}-2"]


def test_e8_a_second_401_is_reported(azure, client):
    azure.get(URL, status=401, json={"error": {"code": "InvalidToken"}})
    with pytest.raises(ArmError) as caught:
        client.get(ID, "1")
    assert caught.value.code == "InvalidToken"
    assert len(azure.calls) == 2


def test_d12_no_token_is_a_credential_error_and_nothing_is_sent(
    azure, client, credential
):
    credential.error = ClientAuthenticationError("AADSTS7000215: bad secret")
    with pytest.raises(CredentialError, match="AADSTS7000215") as caught:
        client.get(ID, "1")
    assert caught.value.reason == "CredentialError"
    assert len(azure.calls) == 0


@pytest.mark.parametrize(
    "read_error",
    [
        requests.ReadTimeout("x"),
        requests.ConnectionError("x"),
        requests.exceptions.SSLError("x"),
    ],
)
def test_v8_a_lost_answer_may_have_been_executed(azure, client, read_error):
    azure.put(URL, body=read_error)
    with pytest.raises(ArmTransportError) as caught:
        client.put(ID, "1", {})
    assert caught.value.sent == "maybe"


def test_t5_a_throttled_bucket_holds_back_the_next_request(azure, credential):
    clock = FakeClock()
    client = connected(
        credential,
        clock=clock,
        budget=Budget(clock, jitter=lambda: 0.0),
    )
    error = {"error": {"code": "429", "message": "too many requests"}}
    azure.put(URL, status=429, headers={"Retry-After": "17"}, json=error)
    with pytest.raises(ArmError):
        client.put(ID, "1", {})
    with pytest.raises(ThrottledError) as caught:
        client.put(ID, "1", {})
    assert caught.value.after_seconds == 17
    assert len(azure.calls) == 1
    azure.get(URL, json={})
    assert client.get(ID, "1") == {}
    client.close()


def test_t7_a_poll_that_is_held_back_keeps_the_token(azure, credential):
    clock = FakeClock()
    client = connected(
        credential,
        clock=clock,
        budget=Budget(clock, jitter=lambda: 0.0),
    )
    left = {"x-ms-ratelimit-remaining-subscription-reads": "0"}
    azure.get(URL, status=429, headers={"Retry-After": "17", **left}, json={})
    with pytest.raises(ArmError):
        client.get(ID, "1")
    outcome = client.poll(pending())
    assert (outcome.token, outcome.delay_seconds) == (pending(), 17)
    assert outcome.progress.polls == 0
    client.close()


def test_t5_one_throttled_resource_holds_up_itself_alone(azure, credential):
    """Neither its provider's others, nor anybody's: nothing says it is about them."""
    clock = FakeClock()
    client = connected(credential, clock=clock, budget=Budget(clock))
    azure.put(URL, status=429, headers={"Retry-After": "60"}, json={})
    with pytest.raises(ArmError):
        client.put(ID, "1", {})
    azure.put(f"{URL}-beside", json={})
    client.put(f"{ID}-beside", "1", {})
    with pytest.raises(ThrottledError, match=f"writes of {ID}$".lower()):
        client.put(ID, "1", {})
    clock.advance(60.0)
    azure.replace("PUT", URL, json={})
    client.put(ID, "1", {})
    client.put(ID, "1", {})
    client.close()


@pytest.mark.parametrize(("priority", "background"), [(0, False), (-100, True)])
def test_t7_requests_of_a_resync_go_in_the_background(
    azure, credential, priority, background
):
    asked = []

    class Watched(Budget):
        def admit(self, bucket, *, background=False):
            asked.append(background)

    clock = FakeClock()
    client = connected(credential, clock=clock, budget=Watched(clock))
    azure.get(URL, json={})
    client.get(ID, "1")
    with running(Context(clock, "id", priority=priority)):
        client.get(ID, "1")
    assert asked == [False, background]
    client.close()


def test_t9_polls_wait_longer_the_more_operations_are_open(azure, credential):
    """Where Azure says how many reads are left; else it is short of nothing."""
    clock = FakeClock()
    client = connected(credential, clock=clock, budget=Budget(clock))
    headers = {"Azure-AsyncOperation": MONITOR, "Retry-After": "2"}
    azure.put(URL, status=201, headers=headers, json={})
    unasked = [client.put(ID, "1", {}).delay_seconds for _ in range(80)]
    assert set(unasked) == {2}
    left = {"x-ms-ratelimit-remaining-subscription-reads": "250"}
    azure.get(MONITOR, headers=left, json={"status": "Succeeded"})
    running = client.put(ID, "1", {})
    assert running.delay_seconds == 2
    client.poll(running.token, running.progress)
    waits = [client.put(ID, "1", {}).delay_seconds for _ in range(80)]
    # A poll and a read each, and 25 for others, of which 250 are there.
    assert waits[:32] == [2] * 32
    assert waits[-1] == pytest.approx((2 * 160 + 25 - 250) / 23.75)
    client.close()


def test_t9_deletions_need_one_read_each_to_be_seen_to_end(azure, credential):
    clock = FakeClock()
    client = connected(credential, clock=clock, budget=Budget(clock))
    headers = {"Azure-AsyncOperation": MONITOR, "Retry-After": "2"}
    azure.delete(URL, status=202, headers=headers)
    left = {"x-ms-ratelimit-remaining-subscription-reads": "50"}
    azure.get(MONITOR, headers={**left, **headers}, json={"status": "InProgress"})
    begun = [client.delete(ID, "1") for _ in range(100)]
    again = client.poll(begun[0].token, begun[0].progress)
    assert again.delay_seconds == pytest.approx((100 + 25 - 49) / 18.75, rel=0.02)
    last = client.delete(ID, "1")
    assert last.delay_seconds == pytest.approx((101 + 25 - 49) / 23.75, rel=0.02)
    client.close()


def test_h5_tokens_of_other_tenants_go_along(azure, registry):
    class Tenants(Credential):
        def get_token(self, *scopes, tenant_id="home", **options):
            self.asked.append(tenant_id)
            return AccessToken(f"{CANARY}-{tenant_id}", int(time.time()) + 3600)

    credential = Tenants()
    client = connected(
        credential,
        clock=FakeClock(),
        auxiliary_tenants=["one", "two"],
    )
    azure.put(URL, json={})
    client.put(ID, "1", {})
    client.put(ID, "1", {})
    for call in azure.calls:
        assert call.request.headers["Authorization"] == f"Bearer {CANARY}-home"
        assert call.request.headers["x-ms-authorization-auxiliary"] == (
            f"Bearer {CANARY}-one, Bearer {CANARY}-two"
        )
    assert credential.asked == ["home", "one", "two"]
    client.close()


def test_h5_without_other_tenants_none_are_named(azure, client):
    azure.put(URL, json={})
    client.put(ID, "1", {})
    assert "x-ms-authorization-auxiliary" not in azure.calls[0].request.headers


def test_pr4_a_missing_registration_is_asked_for_once(azure, client):
    error = {"code": "MissingSubscriptionRegistration", "message": "m"}
    azure.put(URL, status=409, json={"error": error})
    register = f"{HOST}/subscriptions/s/providers/Microsoft.Net/register"
    azure.post(register, json={"registrationState": "Registering"})
    for _ in range(3):
        with pytest.raises(ArmError):
            client.put(ID, "1", {})
    assert [call.request.method for call in azure.calls] == [
        "PUT",
        "POST",
        "PUT",
        "PUT",
    ]


def test_metrics_count_answers_and_silences(azure, client, registry):
    azure.get(URL, status=404, json={})
    with pytest.raises(ArmError):
        client.get(ID, "1")
    azure.delete(URL, body=requests.ReadTimeout("x"))
    with pytest.raises(ArmTransportError):
        client.delete(ID, "1")
    azure.get(MONITOR, json={"status": "Running"})
    client.poll(pending())
    labels = {"resource": "Microsoft.Net/things", "requestType": "GET"}
    value = registry.get_sample_value
    assert (
        value("azure_successful_requests_total", {**labels, "responseCode": "404"}) == 1
    )
    assert (
        value("azure_failed_requests_total", {**labels, "requestType": "DELETE"}) == 1
    )
    assert value("azure_requests_time_seconds_count", labels) == 1
    monitor = {"resource": "Microsoft.Net/operations", "requestType": "GET"}
    assert value("azure_requests_time_seconds_count", monitor) == 1


def test_l15_trouble_while_polling_is_counted_and_logged(
    azure, client, registry, caplog
):
    azure.get(MONITOR, status=503, body="<html>busy</html>")
    outcome = client.poll(pending(f"{MONITOR}?s=signature"))
    assert isinstance(outcome, Pending)
    troubles = "asoreconcile_azure_status_read_troubles_total"
    labels = {"resource": "Microsoft.Net/operations"}
    assert registry.get_sample_value(troubles, labels) == 1
    assert "could not be read" in caplog.text
    assert "signature" not in caplog.text


def test_t3_rate_limits_are_gauges(azure, credential, registry):
    clock = FakeClock()
    metrics = ArmMetrics(registry)
    client = connected(
        credential,
        clock=clock,
        metrics=metrics,
        budget=Budget(clock, gauge=metrics.remaining),
    )
    header = "x-ms-ratelimit-remaining-subscription-reads"
    azure.get(URL, json={}, headers={header: "3749"})
    client.get(ID, "1")
    gauge = "asoreconcile_azure_rate_limit_remaining"
    labels = {"subscription": "s", "limit": "subscription-reads"}
    assert registry.get_sample_value(gauge, labels) == 3749
    client.close()


def test_tokens_reach_no_log_no_exception_and_no_repr(azure, client, caplog):
    caplog.set_level(logging.DEBUG)
    azure.get(URL, status=500, json={"error": {"code": "X", "message": "m"}})
    azure.put(URL, body=requests.ConnectionError("reset"))
    azure.delete(URL, status=401, json={})
    texts = []
    for call in (
        lambda: client.get(ID, "1"),
        lambda: client.put(ID, "1", {"password": CANARY}),
        lambda: client.delete(ID, "1"),
    ):
        with pytest.raises((ArmError, ArmTransportError)) as caught:
            call()
        texts += [str(caught.value), repr(caught.value), str(vars(caught.value))]
        texts += traceback.format_exception(caught.value)
    texts += [repr(client), repr(client.poll(pending(EVIL))), caplog.text]
    assert CANARY not in "".join(texts)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("If-Match", "a\r\nX-Evil: 1"),
        ("If-Match", "a\nb"),
        ("If-Match", "\u0430"),
        ("If Match", "a"),
        ("If-Match\r\nX-Evil", "a"),
        ("", "a"),
    ],
)
def test_a_header_that_cannot_be_sent_is_a_clear_error(client, credential, name, value):
    with pytest.raises(HeaderError) as caught:
        client.put(ID, "1", {}, headers={name: value})
    assert "header" in str(caught.value)
    assert len(value) == 1 or value not in str(caught.value)
    assert credential.asked == []


def test_v7_a_post_that_answers_a_list_keeps_it(azure, client):
    azure.post(f"{URL}/listThem", json=[{"name": "a"}, {"name": "b"}])
    outcome = client.post(f"{ID}/listThem", "1")
    assert outcome == OperationDone([{"name": "a"}, {"name": "b"}])


def test_l10_a_list_at_the_location_of_a_post_is_kept(azure, client):
    azure.get(MONITOR, json=["a"])
    token = Token(TokenShape.LOCATION, RESOURCE, MONITOR, "InProgress")
    assert client.poll(token) == OperationDone(["a"], settled=True)


@pytest.mark.parametrize("link", ["/next?page=2", "next?page=2"])
def test_q1_a_relative_next_page_is_on_the_endpoint(azure, client, link):
    azure.get(URL, json={"value": [{"name": "a"}], "nextLink": link})
    azure.get(f"{HOST}/next", json={"value": [{"name": "b"}]})
    assert [entry["name"] for entry in client.list(ID, "1")] == ["a", "b"]


@pytest.mark.parametrize("link", ["//evil.example/next", "javascript:alert(1)"])
def test_q1_a_next_page_of_another_host_is_not_asked(azure, client, link):
    azure.get(URL, json={"value": [], "nextLink": link})
    with pytest.raises(ForeignHostError):
        list(client.list(ID, "1"))


@pytest.mark.parametrize(
    ("body", "read"),
    [
        (b'{"id": "\\ud800x"}', {"id": "\ufffdx"}),
        (b'{"id": "x\xff"}', {"id": "x\ufffd"}),
        (b'{"id": "\\ud83d\\ude00"}', {"id": "\U0001f600"}),
        (
            b'{"id": NaN, "n": [-Infinity, 1e999, 1.5]}',
            {"id": None, "n": [None, None, 1.5]},
        ),
        (b'{"id": 123456789012345678901234567890}', {"id": 1.2345678901234568e29}),
        (
            b'{"id": NaN, "n": 123456789012345678901234567890}',
            {"id": None, "n": 1.2345678901234568e29},
        ),
        (b'\xef\xbb\xbf{"\\udc00": 1}', {"\ufffd": 1}),
    ],
)
def test_what_is_read_can_be_written_as_a_status(azure, client, body, read):
    azure.get(URL, body=body)
    found = client.get(ID, "1")
    assert found == read
    assert orjson.loads(orjson.dumps(found)) == read


@pytest.mark.parametrize(
    "text",
    [
        None,
        5,
        True,
        ["a"],
        {"a": 1},
        "",
        "  ",
        f"{CANARY}\r\nX-Odd: 1",
        f"{CANARY} b",
        f"{CANARY}ä",
        f"{CANARY}\x00",
        f"{CANARY}\n",
    ],
    ids=repr,
)
def test_d12_what_cannot_be_a_token_is_a_credential_error(
    azure, client, credential, text
):
    credential.get_token = lambda *_, **__: AccessToken(text, int(time.time()) + 3600)
    with pytest.raises(CredentialError, match="see whether a proxy") as caught:
        client.get(ID, "1")
    assert CANARY not in "".join(traceback.format_exception(caught.value))
    assert not caught.value.is_passing
    assert len(azure.calls) == 0


@pytest.mark.parametrize("ends", [None, "soon", [], 10**400, float("nan")], ids=type)
def test_d12_a_token_without_an_end_is_a_credential_error(
    azure, client, credential, ends
):
    credential.get_token = lambda *_, **__: AccessToken(f"{CANARY}-1", ends)
    with pytest.raises(CredentialError, match="see whether a proxy"):
        client.get(ID, "1")
    assert len(azure.calls) == 0


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "5",
        "null",
        '"x"',
        "<x>",
        "",
        '{"access_token":',
        '{"access_token":null}',
        '{"access_token":[]}',
        '{"access_token":5}',
        "[" * 2000,
    ],
)
def test_e8_claims_that_nobody_can_ask_for_are_none(text):
    encoded = b64encode(text.encode()).decode()
    assert challenge_claims(f'Bearer realm="", claims="{encoded}"') == ""


@pytest.mark.parametrize(
    "header",
    [
        'claims="',
        'claims=""',
        'claims="!"',
        'claims="/w=="',
        'claims="e"',
        "claims=e30",
        'claims="' + "A" * 100000,
        "claims=" * 20000,
    ],
)
def test_e8_a_malformed_challenge_holds_no_claims(header):
    assert challenge_claims(f"Bearer {header}") == ""


def test_e8_claims_without_an_end_cost_two_requests_each_time(
    azure, client, credential
):
    for number in range(4):
        encoded = b64encode(b'{"a":%d}' % number).decode()
        challenge = {"WWW-Authenticate": f'Bearer claims="{encoded}"'}
        azure.get(URL, status=401, headers=challenge, json={})
    for _ in range(2):
        with pytest.raises(ArmError):
            client.get(ID, "1")
    assert len(azure.calls) == 4
    assert len(credential.asked) == 3
