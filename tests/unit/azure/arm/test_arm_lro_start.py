"""First answers: done, failed, or what to watch. One line a rule of the contract."""

import pytest
from armanswers import ID, answer, resource

from asoreconcile.azure.arm.endpoint import Endpoint
from asoreconcile.azure.arm.lro_start import parse_initial_response
from asoreconcile.azure.arm.outcomes import Failed, OperationDone, Pending, ReadResource
from asoreconcile.azure.arm.response import ArmResponse
from asoreconcile.azure.arm.tokens import DELETE, RESOURCE, TokenShape

HOST = "https://management.azure.com"
URL = f"{HOST}{ID}?api-version=2024-01-01"
AAO = f"{HOST}/subscriptions/s/providers/Microsoft.Net/locations/l/operations/o?t=1"
LOC = f"{HOST}/subscriptions/s/providers/Microsoft.Net/locations/l/results/o?t=1"
ENDPOINT = Endpoint(HOST)


def first(method, given):
    return parse_initial_response(given, method=method, url=URL, endpoint=ENDPOINT)


DONE = {
    "L1-succeeded": ("PUT", answer(200, resource("Succeeded"))),
    "L1-any-case": ("PUT", answer(201, resource("succeeded"))),
    "L1-whatever-the-headers": ("PUT", answer(201, resource("Succeeded"), aao=AAO)),
    "L1-patch": ("PATCH", answer(200, resource("Succeeded"), loc=LOC)),
    "L4-relative-location-is-itself": ("PUT", answer(201, resource(), loc=ID)),
    "L4-relative-with-version": (
        "PUT",
        answer(201, resource(), loc=f"{ID.lower()}?api-version=2024-01-01"),
    ),
    "L4-absolute-location-is-itself": ("PUT", answer(201, resource(), loc=URL)),
    "D22-relative-location": ("PUT", answer(201, resource(), loc=ID)),
    "L6-200-without-state": ("PUT", answer(200, resource())),
    "L6-201-without-state": ("PUT", answer(201, resource())),
    "L6-properties-null": ("PUT", answer(200, {"id": ID, "properties": None})),
    "L6-200-with-location": ("PUT", answer(200, resource(), loc=LOC)),
    "L8-delete-200": ("DELETE", answer(200)),
    "L8-delete-204": ("DELETE", answer(204)),
    "L8-post-200": ("POST", answer(200, {"keys": []})),
    "L8-post-204": ("POST", answer(204)),
    "V5-delete-404": ("DELETE", answer(404, {"error": {"code": "ResourceNotFound"}})),
    "V6-delete-null": ("DELETE", ArmResponse(200, {}, b"null")),
    "V6-delete-object": ("DELETE", answer(200, {"id": ID})),
    "V6-delete-html": (
        "DELETE",
        ArmResponse(200, {"x-ms-request-id": "1"}, b"<html/>"),
    ),
    "V7-post-body": ("POST", answer(200, {"keys": [1]})),
}

WATCHED = {
    "L2-put": ("PUT", answer(201, resource("Creating"), aao=AAO), TokenShape.ASYNC, AAO),
    "L2-over-location": ("PUT", answer(202, {"operation": "x"}, aao=AAO, loc=LOC),
                         TokenShape.ASYNC, AAO),
    "L2-delete": ("DELETE", answer(202, aao=AAO, loc=LOC), TokenShape.ASYNC, AAO),
    "L2-delete-200": ("DELETE", answer(200, aao=AAO), TokenShape.ASYNC, AAO),
    "L2-post": ("POST", answer(202, aao=AAO), TokenShape.ASYNC, AAO),
    "L2-202-though-succeeded": ("PUT", answer(202, resource("Succeeded"), aao=AAO),
                                TokenShape.ASYNC, AAO),
    "L2-no-state": ("PUT", answer(201, resource(), aao=AAO), TokenShape.ASYNC, AAO),
    "L2-broken-body": ("PUT", ArmResponse(201, {"azure-asyncoperation": AAO}, b'{"id":'),
                       TokenShape.ASYNC, AAO),
    "L3-put": ("PUT", answer(202, loc=LOC), TokenShape.LOCATION, LOC),
    "L3-delete": ("DELETE", answer(202, loc=LOC), TokenShape.LOCATION, LOC),
    "L3-post": ("POST", answer(202, loc=LOC), TokenShape.LOCATION, LOC),
    "L3-null-body": ("DELETE", ArmResponse(202, {"location": LOC}, b"null"),
                     TokenShape.LOCATION, LOC),
    "L3-delete-location-is-itself": ("DELETE", answer(202, loc=URL), TokenShape.LOCATION, URL),
    "L3-delete-location-is-a-view-of-itself": ("DELETE", answer(202, loc=f"{URL}&asyncId=1"),
                                               TokenShape.LOCATION, f"{URL}&asyncId=1"),
    "L4-another-location": ("PUT", answer(201, resource(), loc=LOC), TokenShape.LOCATION, LOC),
    "L5-running": ("PUT", answer(200, resource("Updating")), TokenShape.BODY, URL),
    "L5-free-word": ("PUT", answer(201, resource("RegisteringDns")), TokenShape.BODY, URL),
    "L5-location-is-itself": ("PUT", answer(201, resource("Creating"), loc=ID), TokenShape.BODY,
                              URL),
    "L7-201-empty": ("PUT", answer(201), TokenShape.BODY, URL),
    "L7-202-without-headers": ("PUT", answer(202), TokenShape.BODY, URL),
    "L7-202-succeeded": ("PUT", answer(202, resource("Succeeded")), TokenShape.BODY, URL),
    "L7-broken-body": ("PUT", ArmResponse(200, {"x-ms-request-id": "1"}, b"<html>"),
                       TokenShape.BODY, URL),
    "L14-monitor-is-the-resource-with-a-query": (
        "PUT",
        answer(202, resource("Creating"), aao=f"{URL}&asyncId=1&asyncCode=201"),
        TokenShape.ASYNC,
        f"{URL}&asyncId=1&asyncCode=201",
    ),
    "D22-relative-monitor": ("PUT", answer(202, aao="/subscriptions/s/operations/o?t=1"),
                             TokenShape.ASYNC, f"{HOST}/subscriptions/s/operations/o?t=1"),
    "L21-foreign-aao": ("PUT", answer(201, resource("Creating"), aao="https://evil.example/o"),
                        TokenShape.BODY, URL),
    "L21-foreign-location": ("PUT", answer(202, loc="https://evil.example/o"), TokenShape.BODY,
                             URL),
    "L21-foreign-location-beside-aao": (
        "PUT",
        answer(201, resource("Creating"), aao=AAO, loc="https://evil.example/o"),
        TokenShape.ASYNC,
        AAO,
    ),
    "L21-foreign-aao-beside-location": ("PUT",
                                        answer(202, aao="https://evil.example/o", loc=LOC),
                                        TokenShape.LOCATION, LOC),
    "L22-other-api-version": ("PUT", answer(202, aao=f"{HOST}/o?api-version=2019-01-01"),
                              TokenShape.ASYNC, f"{HOST}/o?api-version=2019-01-01"),
    "L20-long-monitor": ("PUT", answer(202, aao=f"{HOST}/o?c={'x' * 8000}"), TokenShape.ASYNC,
                         f"{HOST}/o?c={'x' * 8000}"),
}  # fmt: skip


@pytest.mark.parametrize(("method", "given"), DONE.values(), ids=DONE)
def test_first_answers_that_end_the_operation(method, given):
    assert isinstance(first(method, given), OperationDone)


@pytest.mark.parametrize(
    ("method", "given", "shape", "url"), WATCHED.values(), ids=WATCHED
)
def test_first_answers_that_name_what_to_watch(method, given, shape, url):
    outcome = first(method, given)
    assert isinstance(outcome, Pending)
    assert (outcome.token.shape, outcome.token.url) == (shape, url)
    assert outcome.token.type == (DELETE if method == "DELETE" else RESOURCE)
    assert outcome.read_error is None


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(answer(202), id="L9-without-headers"),
        pytest.param(answer(202, aao="https://evil.example/o"), id="L21-foreign"),
    ],
)
def test_deletions_without_a_monitor_are_read_from_the_resource(given):
    outcome = first("DELETE", given)
    assert isinstance(outcome, ReadResource)
    assert outcome.deleting
    assert outcome.delay_seconds == 1


@pytest.mark.parametrize(
    ("status", "state"),
    [
        pytest.param(200, "Failed", id="D6-200"),
        pytest.param(201, "failed", id="D6-201"),
        pytest.param(202, "Canceled", id="D6-202"),
        pytest.param(201, "Cancelled", id="L13-cancelled"),
    ],
)
def test_d6_a_first_answer_that_says_failed_is_a_failure(status, state):
    outcome = first("PUT", answer(status, resource(state)))
    assert isinstance(outcome, Failed)
    assert outcome.error.code == state
    assert outcome.error.status == status


def test_d6_the_code_is_the_resources_own_where_it_states_one():
    body = resource("Failed")
    body["properties"]["error"] = {"code": "QuotaExceeded", "message": "no room"}
    outcome = first("PUT", answer(200, body))
    assert isinstance(outcome, Failed)
    assert (outcome.error.code, outcome.error.message) == ("QuotaExceeded", "no room")


def test_a_refusal_is_failed_with_what_was_said():
    outcome = first("PUT", answer(409, {"error": {"code": "Conflict", "message": "m"}}))
    assert isinstance(outcome, Failed)
    assert (outcome.error.status, outcome.error.code) == (409, "Conflict")


def test_v10_a_redirect_is_not_followed():
    outcome = first("PUT", answer(307, loc="https://elsewhere.example/"))
    assert isinstance(outcome, Failed)
    assert outcome.error.status == 307


def test_l21_a_post_with_a_foreign_monitor_fails_for_lack_of_a_resource():
    outcome = first("POST", answer(202, aao="https://evil.example/o"))
    assert isinstance(outcome, Failed)


def test_l21_hosts_that_settings_allow_are_polled():
    endpoint = Endpoint(HOST, also=frozenset({"westus.rp.example.com"}))
    url = "https://WestUS.rp.example.com/operations/o"
    outcome = parse_initial_response(
        answer(202, loc=url), method="PUT", url=URL, endpoint=endpoint
    )
    assert isinstance(outcome, Pending)
    assert outcome.token.url == url


@pytest.mark.parametrize(
    ("given", "delay"),
    [
        pytest.param(answer(202, loc=LOC, ra="15"), 15, id="L17-before-first-poll"),
        pytest.param(answer(202, loc=LOC), 1, id="L17-absent"),
        pytest.param(answer(202, loc=LOC, ra="0"), 1, id="L17-zero"),
        pytest.param(answer(202, loc=LOC, ra="86400"), 600, id="L17-clamped"),
        pytest.param(answer(200, resource("Creating"), ra="7"), 7, id="D4-body"),
    ],
)
def test_l17_retry_after_counts_before_the_first_poll(given, delay):
    outcome = first("PUT", given)
    assert isinstance(outcome, Pending)
    assert outcome.delay_seconds == delay


def test_an_async_token_remembers_what_aso_would():
    outcome = first("PUT", answer(202, resource("Creating"), aao=AAO, loc=LOC))
    assert isinstance(outcome, Pending)
    token = outcome.token
    assert (token.location, token.original_url) == (LOC, URL)
    assert (token.method, token.final_state, token.state) == ("PUT", "", "Creating")


def test_an_operation_location_is_watched_by_its_status():
    given = ArmResponse(202, {"operation-location": AAO}, b'{"status":"Running"}')
    outcome = first("PUT", given)
    assert isinstance(outcome, Pending)
    assert outcome.token.shape is TokenShape.OPERATION_LOCATION
    assert outcome.token.state == "Running"


def test_h1_the_client_request_id_stays_with_the_operation():
    outcome = parse_initial_response(
        answer(202, aao=AAO),
        method="PUT",
        url=URL,
        endpoint=ENDPOINT,
        client_request_id="id-1",
    )
    assert isinstance(outcome, Pending)
    assert outcome.progress.client_request_id == "id-1"


@pytest.mark.parametrize("status", [200, 201, 202])
@pytest.mark.parametrize(
    ("state", "headers", "expected"),
    [
        ("Creating", {}, Pending),
        ("Failed", {}, Failed),
        (None, {"aao": AAO}, Pending),
    ],
    ids=["V1-running", "V1-failed", "V1-monitor"],
)
def test_v1_no_accepting_status_tells_done_from_running(
    status, state, headers, expected
):
    outcome = first("PUT", answer(status, resource(state), **headers))
    assert isinstance(outcome, expected)


def test_v1_an_accepting_status_may_be_the_end():
    ends = {s: first("PUT", answer(s, resource("Succeeded"))) for s in (200, 201)}
    assert {s: type(outcome) for s, outcome in ends.items()} == {
        200: OperationDone,
        201: OperationDone,
    }


@pytest.mark.parametrize("status", [200, 201, 202])
def test_v1_an_accepted_put_may_have_no_body(status):
    assert isinstance(first("PUT", answer(status, aao=AAO)), Pending)
