"""Only Azure's word counts: what a proxy says in its place concludes nothing."""

import time

import pytest
import responses
from azure.core.credentials import AccessToken
from azure.core.pipeline.transport import RequestsTransport

from asoreconcile.azure.arm.classification import classify
from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.condition_error import RetryClass
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.outcomes import (
    OperationDone,
    Pending,
    ReadResource,
    Restart,
)
from asoreconcile.azure.arm.polling import MAX_BAD_READS
from asoreconcile.azure.arm.tokens import RESOURCE, Token, TokenShape
from asoreconcile.testing.clock import FakeClock

HOST = "https://management.azure.com"
ID = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Net/things/n"
URL = HOST + ID
MONITOR = f"{HOST}/subscriptions/s/providers/Microsoft.Net/operations/o"
PAGE = "<html><body>You are offline</body></html>"
OURS = {"x-ms-request-id": "1"}
RESOURCE_URL = f"{URL}?api-version=1"


class Credential:
    def get_token(self, *scopes, **options):
        return AccessToken("t", int(time.time()) + 3600)


@pytest.fixture
def azure():
    with responses.RequestsMock() as mock:
        yield mock


@pytest.fixture
def client():
    made = ArmClient(
        HOST,
        Credential(),
        scope="s",
        clock=FakeClock(),
        transport=RequestsTransport(),
    )
    yield made
    made.close()


CALLS = {
    "get": ("GET", lambda client: client.get(ID, "1")),
    "put": ("PUT", lambda client: client.put(ID, "1", {})),
    "delete": ("DELETE", lambda client: client.delete(ID, "1")),
    "post": ("POST", lambda client: client.post(ID, "1")),
    "list": ("GET", lambda client: list(client.list(ID, "1"))),
    "judge-put": ("GET", lambda client: client.judge(ID, "1", deleting=False)),
    "judge-delete": ("GET", lambda client: client.judge(ID, "1", deleting=True)),
}


@pytest.mark.parametrize("status", [200, 202, 404, 410])
@pytest.mark.parametrize("name", CALLS)
def test_l16_v5_a_page_of_somebody_else_concludes_nothing(azure, client, name, status):
    method, call = CALLS[name]
    azure.add(method, URL, status=status, body=PAGE, content_type="text/html")
    with pytest.raises(ArmError) as caught:
        call(client)
    assert caught.value.is_foreign
    assert not caught.value.is_not_found
    assert classify(caught.value).retry is RetryClass.SLOW


@pytest.mark.parametrize("status", [200, 404])
def test_v4_a_head_answered_by_somebody_else_concludes_nothing(azure, client, status):
    azure.head(URL, status=status, content_type="text/html")
    with pytest.raises(ArmError, match="proxy") as caught:
        client.head(ID, "1")
    assert not caught.value.is_not_found


@pytest.mark.parametrize(
    ("headers", "content_type"),
    [(OURS, "text/html"), ({}, "application/json"), ({}, None)],
)
def test_v4_a_head_of_azures_counts(azure, client, headers, content_type):
    azure.head(URL, status=404, headers=headers, content_type=content_type)
    assert client.head(ID, "1") is False


@pytest.mark.parametrize("status", [200, 202, 403, 404, 410])
@pytest.mark.parametrize(
    "shape", [TokenShape.ASYNC, TokenShape.LOCATION, TokenShape.BODY]
)
def test_l15_an_operation_outlives_the_pages_of_somebody_else(
    azure, client, shape, status
):
    url = RESOURCE_URL if shape is TokenShape.BODY else MONITOR
    token = Token(shape, RESOURCE, url, "Running")
    azure.get(url, status=status, body=PAGE, content_type="text/html")
    outcome = client.poll(token)
    assert isinstance(outcome, Pending)
    assert outcome.token == token
    assert outcome.read_error is not None


def test_v5_v6_what_azure_says_without_json_counts(azure, client):
    azure.delete(URL, status=200, body=PAGE, headers=OURS)
    assert isinstance(client.delete(ID, "1"), OperationDone)
    azure.get(URL, status=404, body=PAGE, headers=OURS)
    assert isinstance(client.judge(ID, "1", deleting=True), OperationDone)
    azure.get(MONITOR, status=404, body=PAGE, headers=OURS)
    outcome = client.poll(Token(TokenShape.ASYNC, RESOURCE, MONITOR, "Running"))
    assert isinstance(outcome, ReadResource)


@pytest.mark.parametrize(
    ("body", "headers"),
    [("", OURS), ("null", OURS), ('{"error": {"code": "NotFound"}}', {})],
)
def test_l16_what_is_empty_or_json_counts(azure, client, body, headers):
    azure.get(URL, status=404, body=body, headers=headers)
    assert isinstance(client.judge(ID, "1", deleting=False), Restart)


@pytest.mark.parametrize("body", ["", "{}", '{"message": "no Route matched"}'])
def test_v3_an_answer_without_a_code_or_a_header_of_azure_ends_nothing(
    azure, client, body
):
    azure.get(URL, status=404, body=body)
    with pytest.raises(ArmError) as caught:
        client.judge(ID, "1", deleting=True)
    assert not caught.value.is_not_found


def test_l14_another_resource_ends_no_operation(azure, client):
    other = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Net/things/m"
    body = {"id": other, "properties": {"provisioningState": "Succeeded"}}
    azure.get(URL, json=body, headers=OURS)
    with pytest.raises(ArmError, match=f"another resource, {other}"):
        client.judge(ID, "1", deleting=False)
    outcome = client.poll(Token(TokenShape.BODY, RESOURCE, RESOURCE_URL, "Running"))
    for _ in range(MAX_BAD_READS - 1):
        assert isinstance(outcome, Pending)
        assert other in str(outcome.read_error)
        outcome = client.poll(outcome.token, outcome.progress)
    # It may be shown for ever, so the polls end, and the condition names it.
    assert isinstance(outcome, ReadResource)
    assert other in str(outcome.error)


@pytest.mark.parametrize("body", ["", "null", "{}", "[]", '{"status": "ok"}'])
def test_l14_nothing_is_no_resource(azure, client, body):
    azure.get(URL, body=body, headers=OURS)
    for deleting in (True, False):
        with pytest.raises(ArmError):
            client.judge(ID, "1", deleting=deleting)
    token = Token(TokenShape.BODY, RESOURCE, RESOURCE_URL, "Running")
    outcome = client.poll(token)
    assert isinstance(outcome, Pending)
    assert outcome.token == token
    assert outcome.read_error is not None


@pytest.mark.parametrize(
    "body", [f'{{"id": "{ID}"}}', '{"name": "n"}', '{"properties": {}}']
)
def test_l6_a_resource_without_a_state_has_succeeded(azure, client, body):
    azure.get(URL, body=body)
    assert isinstance(client.judge(ID, "1", deleting=False), OperationDone)
