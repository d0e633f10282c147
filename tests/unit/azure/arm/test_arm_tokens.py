"""The resume token: ASO's JSON to the byte, and any equivalent read."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asoreconcile.azure.arm.tokens import (
    DELETE,
    RESOURCE,
    Token,
    TokenError,
    TokenShape,
    concerns,
    dumps,
    loads,
)

H = "https://management.azure.com"
OPERATION = f"{H}/subscriptions/S/providers/P/locations/L/operations/O"
RESOURCE_URL = f"{H}/subscriptions/S/resourceGroups/G/providers/P/T/N"

EXAMPLES = {
    "async": (
        Token(
            TokenShape.ASYNC,
            RESOURCE,
            f"{OPERATION}?api-version=2024-03-01&t=1",
            "InProgress",
            original_url=f"{RESOURCE_URL}?api-version=2024-03-01",
            method="PUT",
        ),
        '{"type":"GenericResource","token":{"asyncURL":"' + OPERATION + "?api-version="
        '2024-03-01\\u0026t=1","locURL":"","origURL":"' + RESOURCE_URL + "?api-version="
        '2024-03-01","method":"PUT","finalState":"","state":"InProgress"}}',
    ),
    "location": (
        Token(
            TokenShape.LOCATION,
            DELETE,
            f"{H}/subscriptions/S/operationresults/O?api-version=2020-06-01",
            "InProgress",
        ),
        '{"type":"GenericDeleteResponse","token":{"type":"loc","pollURL":"'
        + H
        + "/subs"
        'criptions/S/operationresults/O?api-version=2020-06-01","state":"InProgress"}}',
    ),
    "body": (
        Token(
            TokenShape.BODY,
            RESOURCE,
            f"{RESOURCE_URL}?api-version=2024-01-01",
            "Creating",
        ),
        '{"type":"GenericResource","token":{"type":"body","pollURL":"'
        + RESOURCE_URL
        + ""
        '?api-version=2024-01-01","state":"Creating"}}',
    ),
    "operation-location": (
        Token(
            TokenShape.OPERATION_LOCATION,
            RESOURCE,
            f"{H}/...",
            "Running",
            original_url=f"{H}/...",
            method="PUT",
        ),
        '{"type":"GenericResource","token":{"oplocURL":"' + H + '/...","locURL":"",'
        '"origURL":"' + H + '/...","method":"PUT","finalState":"","state":"Running"}}',
    ),
}


@pytest.mark.parametrize(("token", "text"), EXAMPLES.values(), ids=EXAMPLES)
def test_1g_each_shape_is_written_to_the_byte(token, text):
    assert dumps(token) == text


@pytest.mark.parametrize(("token", "text"), EXAMPLES.values(), ids=EXAMPLES)
def test_1g_each_shape_is_read_back(token, text):
    assert loads(text) == token


@pytest.mark.parametrize(("token", "text"), EXAMPLES.values(), ids=EXAMPLES)
def test_1g_equivalent_json_is_accepted(token, text):
    document = json.loads(text)
    inner = dict(reversed(document["token"].items()))
    inner["resultPath"] = "ignored"
    other = {"token": inner, "more": [], "type": document["type"]}
    assert loads(json.dumps(other, indent=2)) == token


def test_1g_go_escapes_three_characters_and_two_line_ends():
    text = dumps(Token(TokenShape.BODY, RESOURCE, "https://a/?x=<&>\u2028\u2029é", "a"))
    assert "?x=\\u003c\\u0026\\u003e\\u2028\\u2029é" in text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="R1.14-empty"),
        pytest.param("{", id="R1.14-no-json"),
        pytest.param("[]", id="R1.14-no-object"),
        pytest.param('{"type":"Other","token":{"type":"loc"}}', id="R1.14-foreign"),
        pytest.param('{"type":"GenericResource"}', id="R1.14-no-token"),
        pytest.param('{"type":"GenericResource","token":""}', id="R1.14-token-text"),
        pytest.param('{"type":"GenericResource","token":{}}', id="R1.14-no-shape"),
        pytest.param(
            '{"type":"GenericResource","token":{"type":"loc"}}', id="R1.14-no-url"
        ),
        pytest.param(
            '{"type":"GenericResource","token":{"asyncURL":3}}', id="R1.14-url-type"
        ),
    ],
)
def test_unreadable_tokens_are_errors(text):
    with pytest.raises(TokenError):
        loads(text)


def test_a_token_error_never_quotes_the_token():
    with pytest.raises(TokenError) as caught:
        loads('{"type":"GenericResource","token":{"type":"canary-1234"}}')
    assert "canary" not in str(caught.value)


def test_r7_1_a_tokens_repr_hides_its_signed_urls():
    token = EXAMPLES["async"][0]
    assert "t=1" not in repr(token)
    assert "InProgress" in repr(token)


ID = "/subscriptions/S/resourceGroups/G/providers/P/T/N"
OTHER_ID = "/subscriptions/S/resourceGroups/G/providers/P/T/M"


@pytest.mark.parametrize("shape", ["async", "body"])
def test_a_token_of_another_resource_or_verb_is_distinctions_of(shape):
    token = EXAMPLES[shape][0]
    assert concerns(token, ID.lower(), deleting=False)
    assert not concerns(token, OTHER_ID, deleting=False)
    assert not concerns(token, ID, deleting=True)


def test_a_token_of_an_encoded_name_is_its_resources():
    token = Token(TokenShape.BODY, RESOURCE, f"{H}/a/b%20c?api-version=1", "x")
    assert concerns(token, "/a/b c", deleting=False)


def test_a_location_token_tells_only_the_verb():
    token = EXAMPLES["location"][0]
    assert concerns(token, OTHER_ID, deleting=True)
    assert not concerns(token, ID, deleting=False)


TEXT = st.text(max_size=40)
URLS = st.text(min_size=1, max_size=40)


@given(
    st.sampled_from([RESOURCE, DELETE]),
    st.sampled_from([TokenShape.ASYNC, TokenShape.OPERATION_LOCATION]),
    st.tuples(URLS, TEXT, TEXT, TEXT, st.sampled_from(["PUT", "DELETE", ""])),
)
def test_any_status_token_survives_the_annotation(type_, shape, texts):
    url, state, location, original, method = texts
    token = Token(
        shape,
        type_,
        url,
        state,
        location=location,
        original_url=original,
        method=method,
    )
    assert loads(dumps(token)) == token


@given(st.text())
def test_any_other_text_is_a_token_error(text):
    with pytest.raises(TokenError):
        loads(text)
