"""Whatever Azure answers: an outcome, a bounded delay, and no host but the endpoint's."""

import orjson
from hypothesis import given
from hypothesis import strategies as st

from asoreconcile.azure.arm.classification import classify
from asoreconcile.azure.arm.endpoint import Endpoint
from asoreconcile.azure.arm.lro_start import parse_initial_response
from asoreconcile.azure.arm.outcomes import (
    Failed,
    OperationDone,
    Pending,
    Progress,
    ReadResource,
    Restart,
)
from asoreconcile.azure.arm.polling import polled
from asoreconcile.azure.arm.provisioning_state import infer_from_resource
from asoreconcile.azure.arm.response import ArmResponse
from asoreconcile.azure.arm.tokens import (
    DELETE,
    RESOURCE,
    Token,
    TokenShape,
    dumps,
    loads,
)

HOST = "https://management.azure.com"
URL = f"{HOST}/subscriptions/s/resourceGroups/g?api-version=1"
ENDPOINT = Endpoint(HOST)

WORDS = st.sampled_from(
    ["Succeeded", "failed", "Canceled", "Running", "", "Ready", None, 3, {}, []]
)
URLS = st.sampled_from(
    [
        URL,
        f"{HOST}/o?t=1",
        "/relative?t=1",
        "//evil.example/o",
        "https://evil.example/o",
        "http://management.azure.com/o",
        "https://user@management.azure.com/o",
        "https://[broken/o",
        "\x00",
        "",
    ]
) | st.text(max_size=20)
BODIES = (
    st.fixed_dictionaries(
        {},
        optional={
            "id": WORDS | st.just("/subscriptions/s/resourceGroups/g"),
            "status": WORDS,
            "properties": WORDS
            | st.fixed_dictionaries({}, optional={"provisioningState": WORDS}),
            "error": WORDS
            | st.fixed_dictionaries({}, optional={"code": WORDS, "message": WORDS}),
        },
    ).map(orjson.dumps)
    | st.binary(max_size=12)
    | st.sampled_from([b"null", b"[]", b"<html>", b""])
)
ANSWERS = st.builds(
    ArmResponse,
    st.integers(100, 599),
    st.dictionaries(
        st.sampled_from(["azure-asyncoperation", "operation-location", "location"]),
        URLS,
    ).flatmap(
        lambda headers: st.sampled_from(["", "3", "-1", "soon", "1e300"]).map(
            lambda delay: {**headers, "retry-after": delay}
        )
    ),
    BODIES,
)
TOKENS = st.builds(
    Token,
    st.sampled_from(TokenShape),
    st.sampled_from([RESOURCE, DELETE]),
    st.sampled_from([URL, f"{HOST}/o?t=1"]),
    st.sampled_from(["InProgress", "Creating"]),
    location=URLS,
    original_url=st.sampled_from(["", URL]),
    method=st.sampled_from(["", "PUT", "POST", "DELETE"]),
)


def check(outcome):
    assert isinstance(outcome, (OperationDone, Failed, Pending, ReadResource, Restart))
    if isinstance(outcome, Pending):
        assert 0 <= outcome.delay_seconds <= 600
        assert ENDPOINT.serves(outcome.token.url)
    if isinstance(outcome, Failed):
        assert outcome.error.code
        assert classify(outcome.error).message


@given(ANSWERS, st.sampled_from(["PUT", "PATCH", "POST", "DELETE"]))
def test_l21_any_first_answer_has_an_outcome(answer, method):
    outcome = parse_initial_response(answer, method=method, url=URL, endpoint=ENDPOINT)
    check(outcome)
    if isinstance(outcome, Pending):
        token = outcome.token
        written = loads(dumps(token))
        assert (written.url, written.shape) == (token.url, token.shape)


@given(TOKENS, ANSWERS, st.integers(0, 12))
def test_l21_any_poll_has_an_outcome(token, answer, bad_reads):
    progress = Progress(polls=bad_reads, bad_reads=bad_reads)
    check(polled(token, answer, endpoint=ENDPOINT, progress=progress))


@given(ANSWERS, st.booleans())
def test_any_read_of_the_resource_has_an_outcome(answer, deleting):
    check(infer_from_resource(answer, url=URL, deleting=deleting))
