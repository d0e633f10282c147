"""Answers that no API server should give: each is an error of the client's own sort."""

from contextlib import closing

import orjson
import pytest
from loopreader import listed

from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import GroupKind, ObjectKey
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.discovery import Discovery, UnknownKindError
from asoreconcile.kube.errors import (
    ApiError,
    DecodeError,
    is_another_object,
    is_resource_version_too_large,
    is_too_large,
)
from asoreconcile.kube.resources import CONFIG_MAPS
from asoreconcile.kube.selection import Selection
from asoreconcile.testing.http import HttpResponse, HttpServer

KEY = ObjectKey("default", "one")
OBJECT = {"metadata": {"namespace": "default", "name": "one"}}
DEEP = b'{"a":' * 200_000 + b"1" + b"}" * 200_000
ODD = [None, True, 7, 1.5, "text", [], [None], [7], [[]], {}, {"a": None}]
OF_ONE = {
    "get": lambda client: client.get(CONFIG_MAPS, KEY),
    "replace": lambda client: client.replace(CONFIG_MAPS, OBJECT),
    "patch": lambda client: client.patch(CONFIG_MAPS, KEY, {}),
}
LISTS = {
    "list": lambda client: list(client.list_all(CONFIG_MAPS)),
    "listing": lambda client: listed(client, CONFIG_MAPS),
}


@pytest.fixture
def answer():
    """Says what the server answers from now on; `answer.client` asks it."""
    said = [HttpResponse(500)]
    asked = []

    def handle(request):
        asked.append(request)
        return said[0]

    def answer(status, body, **headers):
        text = body if isinstance(body, bytes) else orjson.dumps(body)
        said[0] = HttpResponse(status, text, headers)

    with HttpServer(handle) as server:
        config = ClusterConfig(server.url, None, authorization=lambda: "Bearer canary")
        with closing(KubeClient(config, user_agent="tests", max_retries=0)) as client:
            answer.client, answer.asked = client, asked  # type: ignore[attr-defined]
            yield answer


NO_OBJECTS = [
    {},
    {"kind": "Status", "status": "Success"},
    {"kind": "Status", "metadata": {}, "status": "Failure", "code": 500},
    {"kind": "ConfigMapList", "metadata": {"resourceVersion": "1"}, "items": []},
    {"metadata": {"name": "another"}},
    *({"metadata": odd} for odd in ODD),
    *({"metadata": {"name": odd}} for odd in ODD),
]


@pytest.mark.parametrize("call", OF_ONE)
def test_cl2_what_is_not_the_object_that_was_asked_for_is_no_answer(answer, call):
    """Nobody takes a proxy's `{}` for an object without finalizers."""
    for body in NO_OBJECTS:
        answer(200, body)
        with pytest.raises(DecodeError, match="is not the object default/one"):
            OF_ONE[call](answer.client)
    answer(200, OBJECT)
    assert OF_ONE[call](answer.client) == OBJECT


@pytest.mark.parametrize("call", LISTS)
def test_cl2_what_is_no_list_of_objects_is_no_empty_list(answer, call):
    meta = {"resourceVersion": "1"}
    for body in (
        *({"metadata": meta, "items": odd} for odd in ODD if odd not in (None, [])),
        {},
        {"kind": "Status", "status": "Success"},
        OBJECT,
    ):
        answer(200, body)
        with pytest.raises(DecodeError, match="the answer is no list"):
            LISTS[call](answer.client)
    for odd in ODD:
        answer(200, {"metadata": {"continue": odd}, "items": None})
        if odd != "text":
            assert LISTS[call](answer.client) == []


def test_cl2_a_list_whose_pages_go_in_a_circle_ends(answer):
    answer(200, {"metadata": {"continue": "again"}, "items": [OBJECT]})
    with pytest.raises(DecodeError, match="in a circle"):
        list(answer.client.list_all(CONFIG_MAPS))
    assert len(answer.asked) == 2


def test_cl2_a_deletion_of_many_is_done_whatever_its_answer(answer):
    selection = Selection(CONFIG_MAPS, "default")
    for odd in ODD:
        answer(200, {"items": odd})
        found = answer.client.delete_all(selection)
        assert all(isinstance(obj, dict) for obj in found)
    answer(200, {"items": [OBJECT]})
    assert answer.client.delete_all(selection) == [OBJECT]


@pytest.mark.parametrize("status", [200, 400, 409, 429, 500, 504])
@pytest.mark.parametrize("call", [*OF_ONE, *LISTS])
def test_text_nested_too_deep_is_refused_at_once(answer, call, status):
    answer(status, DEEP)
    with pytest.raises(AsoreconcileError) as caught:
        {**OF_ONE, **LISTS}[call](answer.client)
    assert len(str(caught.value)) < 4000
    assert ("max depth" in str(caught.value)) is (status == 200)


@pytest.mark.parametrize("field", ["message", "reason", "code", "details", "status"])
@pytest.mark.parametrize("status", [409, 422, 429, 504])
def test_a_refusal_with_odd_parts_is_a_refusal(answer, status, field):
    base = {"kind": "Status", "message": "said", "reason": "Because", "code": status}
    for odd in ODD:
        answer(status, {**base, field: odd})
        with pytest.raises(ApiError) as caught:
            answer.client.get(CONFIG_MAPS, KEY)
        assert caught.value.status == status
        assert isinstance(caught.value.reason, str)


@pytest.mark.parametrize("status", [409, 413, 422, 504])
def test_a_refusal_with_odd_causes_is_a_refusal(answer, status):
    for odd in [*ODD, [{"field": 7, "reason": []}]]:
        answer(status, {"kind": "Status", "details": {"causes": odd}})
        with pytest.raises(ApiError) as caught:
            answer.client.get(CONFIG_MAPS, KEY)
        error = caught.value
        assert not is_another_object(error)
        assert is_too_large(error) is (status == 413)
        assert not is_resource_version_too_large(error)
    known = {"field": "metadata.uid", "reason": "ResourceVersionTooLarge"}
    answer(504, {"kind": "Status", "details": {"causes": [7, known]}})
    with pytest.raises(ApiError) as caught:
        answer.client.get(CONFIG_MAPS, KEY)
    assert is_another_object(caught.value)
    assert is_resource_version_too_large(caught.value)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("2.5", 2.5),
        ("-1", 0.0),
        ("nan", None),
        ("inf", 600.0),
        ("-inf", 0.0),
        ("1e9", 600.0),
        ("9" * 500, 600.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", None),
        ("", None),
        ("soon", None),
        ("5, 7", None),
    ],
)
def test_cl6_what_a_server_asks_for_is_a_time_of_at_most_ten_minutes(
    answer, value, seconds
):
    status = {"kind": "Status", "message": "busy"}
    answer(429, status, **{"Retry-After": value})
    with pytest.raises(ApiError) as caught:
        answer.client.get(CONFIG_MAPS, KEY)
    assert caught.value.retry_after_seconds == seconds
    answer(429, {**status, "details": {"retryAfterSeconds": value}})
    with pytest.raises(ApiError) as caught:
        answer.client.get(CONFIG_MAPS, KEY)
    assert caught.value.retry_after_seconds == seconds


def test_cl6_a_time_of_another_type_is_none(answer):
    for odd in (None, [], [7], {}, {"a": 1}):
        answer(429, {"kind": "Status", "details": {"retryAfterSeconds": odd}})
        with pytest.raises(ApiError) as caught:
            answer.client.get(CONFIG_MAPS, KEY)
        assert caught.value.retry_after_seconds is None


@pytest.mark.parametrize("group", ["apps", ""])
@pytest.mark.parametrize("field", ["versions", "preferredVersion", "resources"])
def test_cl7_an_odd_discovery_serves_no_such_kind(answer, field, group):
    """An aggregated API server answers this itself, and may be anybody's program."""
    kind = {"name": "ones", "kind": "One", "namespaced": True}
    whole = {
        "versions": [{"version": "v1"}] if group else ["v1"],
        "preferredVersion": {"version": "v1"},
        "resources": [kind],
    }
    answer(200, whole)
    assert Discovery(answer.client).resource(GroupKind(group, "One")).plural == "ones"
    for odd in [*ODD, [{"name": 7, "kind": "One", "version": 7}]]:
        answer(200, {**whole, field: odd})
        discovery = Discovery(answer.client)
        if field == "preferredVersion":
            assert discovery.resource(GroupKind(group, "One")).plural == "ones"
        elif field == "resources" or group or odd in (None, [], {}, True, 7, 1.5):
            with pytest.raises(UnknownKindError):
                discovery.resource(GroupKind(group, "One"))
