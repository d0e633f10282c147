"""Lists page by page, as values: ends, next pages, bounds, and bodies that are not pages."""

import orjson
import pytest

from asoreconcile.azure.arm import paging as module
from asoreconcile.azure.arm.bearer import ForeignHostError
from asoreconcile.azure.arm.endpoint import Endpoint
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.paging import Paging
from asoreconcile.azure.arm.response import ArmResponse

HOST = "https://management.azure.com"
ENDPOINT = Endpoint(HOST)


def answer(body):
    content = body if isinstance(body, bytes) else orjson.dumps(body)
    return ArmResponse(200, {}, content)


def started():
    return Paging(ENDPOINT, f"{HOST}/x?api-version=1")


@pytest.mark.parametrize(
    "end",
    [
        pytest.param({}, id="Q1-absent"),
        pytest.param({"nextLink": None}, id="Q1-null"),
        pytest.param({"nextLink": ""}, id="Q1-empty"),
    ],
)
def test_q1_a_list_ends_without_a_next_link(end):
    paging = started()
    assert paging.turn(answer({"value": [{"id": "1"}], **end})) == [{"id": "1"}]
    assert paging.url == ""


def test_q1_the_next_link_is_taken_byte_for_byte():
    paging = started()
    following = f"{HOST}/x?api-version=1&%24skiptoken=a%3db%2B"
    assert paging.turn(answer({"value": [], "nextLink": following})) == []
    assert paging.url == following
    assert (paging.pages, paging.entries) == (1, 0)


@pytest.mark.parametrize("body", [{}, {"value": None}])
def test_q1_a_page_may_be_empty(body):
    assert started().turn(answer(body)) == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "no JSON object"),
        (b"null", "no JSON object"),
        (b"[]", "no JSON object"),
        (b"<html></html>", "13 bytes is not JSON"),
        (b'{"value": [', "not JSON"),
        ({"value": {"id": "1"}}, "is no list"),
        ({"value": "x"}, "is no list"),
        ({"error": {"code": "Busy", "message": "m"}}, "is no list"),
        ({"value": [{"id": "1"}, "x"]}, "no object"),
        ({"value": [], "nextLink": 7}, "no URL"),
        ({"value": [], "nextLink": {"href": "x"}}, "no URL"),
    ],
)
def test_q1_what_is_no_page_is_an_error_that_names_the_request(body, said):
    with pytest.raises(ArmError, match=said) as caught:
        started().turn(answer(body))
    assert f"GET {HOST}/x: 200" in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/x",
        "http://management.azure.com/x",
        "https://management.azure.com@evil.example/x",
        "https://management.azure.com.evil.example/x",
    ],
)
def test_h4_q1_a_next_page_elsewhere_is_refused(url):
    with pytest.raises(ForeignHostError):
        started().turn(answer({"value": [], "nextLink": url}))


@pytest.mark.parametrize("length", [1, 2, 5])
def test_q1_a_circle_of_any_length_is_found_at_once(length):
    paging = started()
    urls = [paging.url, *(f"{HOST}/{number}" for number in range(length - 1))]
    for url in [*urls[1:], None]:
        if url is None:
            with pytest.raises(ArmError, match=f"circle after {length} pages"):
                paging.turn(answer({"nextLink": urls[0]}))
        else:
            paging.turn(answer({"nextLink": url}))


def test_q1_a_list_that_never_ends_is_given_up():
    paging = started()
    for number in range(999):
        paging.turn(answer({"nextLink": f"{HOST}/{number}"}))
    with pytest.raises(ArmError, match="does not end after 1000 pages"):
        paging.turn(answer({"nextLink": f"{HOST}/1000"}))


@pytest.mark.parametrize(
    ("bound", "value", "said"),
    [("MAX_ENTRIES", 25, "30 entries"), ("MAX_BYTES", 90, "too long")],
)
def test_q1_entries_and_bytes_are_bounded(monkeypatch, bound, value, said):
    monkeypatch.setattr(module, bound, value)
    paging = started()
    pages = [
        answer({"value": [{}] * size, "nextLink": f"{HOST}/{size}"}) for size in (0, 30)
    ]
    paging.turn(pages[0])
    with pytest.raises(ArmError, match=said):
        paging.turn(pages[1])
