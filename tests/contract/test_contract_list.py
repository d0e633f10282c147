"""Lists: order, pages, selectors, and versions asked for."""

import base64
import json
from typing import Any

import pytest
from contractclient import Answer, Server, config_maps, widget, widgets


def names(answer: Answer) -> list[str]:
    return [item["metadata"]["name"] for item in answer.expect(200).json["items"]]


@pytest.fixture
def path(server: Server, namespace: str) -> str:
    """A collection of five widgets with labels."""
    rows = [("e", "red", 1), ("b", "green", 2), ("a", "red", 3), ("d", "blue", 1)]
    for name, color, size in rows:
        body = widget(name, color=color, size=size)
        body["metadata"]["labels"] = {"color": color, "size": str(size), name: ""}
        server.post(widgets(namespace), body).expect(201)
    server.post(widgets(namespace), widget("c")).expect(201)
    return widgets(namespace)


def test_a_list_is_sorted_and_says_what_it_is(server: Server, path: str):
    answer = server.get(path)
    assert names(answer) == ["a", "b", "c", "d", "e"]
    listed = answer.json
    assert listed["kind"] == "WidgetList"
    assert listed["apiVersion"] == "contract.example.com/v1"
    newest = max(int(o["metadata"]["resourceVersion"]) for o in listed["items"])
    assert int(listed["metadata"]["resourceVersion"]) >= newest
    assert listed["items"][0]["kind"] == "Widget"


def test_items_of_built_in_lists_do_not_repeat_their_kind(
    server: Server, namespace: str
):
    server.post(config_maps(namespace), {"metadata": {"name": "a"}}).expect(201)
    listed = server.get(config_maps(namespace)).expect(200).json
    assert listed["kind"] == "ConfigMapList"
    assert all("kind" not in i and "apiVersion" not in i for i in listed["items"])


def test_a_list_of_all_namespaces(server: Server, path: str):
    with server.namespace() as other:
        server.post(widgets(other), widget("zz")).expect(201)
        listed = server.get("/apis/contract.example.com/v1/widgets").expect(200).json
    keys = [
        (o["metadata"]["namespace"], o["metadata"]["name"]) for o in listed["items"]
    ]
    assert keys == sorted(keys)
    assert (other, "zz") in keys
    assert len(keys) >= 6


def test_pages_are_one_snapshot(server: Server, namespace: str, path: str):
    first = server.get(path, limit=2)
    assert names(first) == ["a", "b"]
    assert first.json["metadata"]["remainingItemCount"] == 3
    server.post(widgets(namespace), widget("bb")).expect(201)
    server.delete(f"{path}/d").expect(200)
    token = first.json["metadata"]["continue"]
    second = server.get(path, limit=2, **{"continue": token})
    assert names(second) == ["c", "d"]
    third = server.get(
        path, limit=2, **{"continue": second.json["metadata"]["continue"]}
    )
    assert names(third) == ["e"]
    assert not third.json["metadata"].get("continue")
    assert {first.rv, second.rv, third.rv} == {first.rv}


def test_a_page_that_holds_everything_has_no_token(server: Server, path: str):
    meta = server.get(path, limit=5).expect(200).json["metadata"]
    assert not meta.get("continue")
    assert "remainingItemCount" not in meta


def test_a_page_with_a_selector_does_not_count_the_rest(server: Server, path: str):
    answer = server.get(path, limit=1, labelSelector="color=red")
    assert names(answer) == ["a"]
    assert answer.json["metadata"]["continue"]
    assert "remainingItemCount" not in answer.json["metadata"]


def test_a_bad_token_is_a_bad_request(server: Server, path: str):
    server.get(path, limit=2, **{"continue": "nonsense"}).refused(400, "BadRequest")


def test_a_token_with_a_version_is_a_bad_request(server: Server, path: str):
    token = server.get(path, limit=2).json["metadata"]["continue"]
    query = {"continue": token, "resourceVersion": "1"}
    server.get(path, limit=2, **query).refused(400, "BadRequest")


def test_a_limit_must_be_a_number(server: Server, path: str):
    server.get(path, limit="many").refused(400, "BadRequest")


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("color=red", "ae"),
        ("color==red", "ae"),
        ("color!=red", "bcd"),
        ("color", "abde"),
        ("!color", "c"),
        ("color in (red, blue)", "ade"),
        ("color notin (red,blue)", "bc"),
        ("color in (red),size=3", "a"),
        ("color=red,size notin (1)", "a"),
        ("size>1", "ab"),
        ("size<2", "de"),
        ("a=", "a"),
        ("nothing=", ""),
        (" color = red , size = 1 ", "e"),
        ("", "abcde"),
    ],
)
def test_label_selectors(server: Server, path: str, selector: str, found: str):
    assert "".join(names(server.get(path, labelSelector=selector))) == found


@pytest.mark.parametrize(
    "selector", ["color in", "color=(", "=red", "color in (a", "a b", "&", "a,,b"]
)
def test_label_selectors_that_are_none(server: Server, path: str, selector: str):
    server.get(path, labelSelector=selector).refused(400, "BadRequest")


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("metadata.name=a", "a"),
        ("metadata.name!=a", "bcde"),
        ("metadata.name==b", "b"),
        ("spec.color=red", "ae"),
        ("spec.color=red,spec.size=3", "a"),
        ("spec.size!=1", "ab"),
        ("spec.color=", "c"),
    ],
)
def test_field_selectors(server: Server, path: str, selector: str, found: str):
    assert "".join(names(server.get(path, fieldSelector=selector))) == found


def test_a_field_selector_on_the_namespace(server: Server, namespace: str, path: str):
    everywhere = "/apis/contract.example.com/v1/widgets"
    found = server.get(everywhere, fieldSelector=f"metadata.namespace={namespace}")
    assert names(found) == ["a", "b", "c", "d", "e"]


def test_other_fields_cannot_be_selected(server: Server, path: str):
    refusal = server.get(path, fieldSelector="spec.mode=x").refused(400, "BadRequest")
    assert "field label not supported: spec.mode" in refusal["message"]


def test_a_field_selector_that_is_none(server: Server, path: str):
    server.get(path, fieldSelector="spec.color").refused(400, "BadRequest")


def test_version_0_is_any(server: Server, path: str):
    assert len(names(server.get(path, resourceVersion="0"))) == 5


def test_a_version_is_at_least_that(server: Server, path: str):
    at = server.get(path).rv
    answer = server.get(path, resourceVersion=at)
    assert names(answer) == ["a", "b", "c", "d", "e"]
    assert int(answer.rv) >= int(at)


def test_an_exact_version_is_the_past(server: Server, path: str):
    at = server.get(path).rv
    server.delete(f"{path}/a").expect(200)
    query = {"resourceVersion": at, "resourceVersionMatch": "Exact"}
    answer = server.get(path, **query)
    assert names(answer) == ["a", "b", "c", "d", "e"]
    assert answer.rv == at


def test_an_exact_version_that_is_forgotten_has_expired(server: Server, path: str):
    query = {"resourceVersion": "1", "resourceVersionMatch": "Exact"}
    answer = server.get(path, **query)
    if answer.status == 200:
        assert names(answer) == []  # a server that never compacted still knows
    else:
        answer.refused(410, "Expired")


def test_a_version_that_is_none_is_a_bad_request(server: Server, path: str):
    refusal = server.get(path, resourceVersion="abc").refused(400, "BadRequest")
    assert "invalid" in refusal["message"].lower()


def test_a_version_of_the_future_times_out(server: Server, path: str):
    future = str(int(server.get(path).rv) + 1_000_000)
    answer = server.get(path, resourceVersion=future)
    refusal = answer.refused(504, "Timeout")
    assert refusal["details"]["retryAfterSeconds"] == 1
    assert answer.causes[0]["reason"] == "ResourceVersionTooLarge"


@pytest.mark.parametrize(
    "query",
    [
        {"resourceVersionMatch": "Exact"},
        {"resourceVersionMatch": "NotOlderThan"},
        {"resourceVersion": "0", "resourceVersionMatch": "Exact"},
        {"resourceVersion": "1", "resourceVersionMatch": "Sometimes"},
        {"sendInitialEvents": "true"},
    ],
    ids=["exact alone", "not older alone", "exact 0", "unknown", "initial events"],
)
def test_version_matches_that_make_no_sense(
    server: Server, path: str, query: dict[str, Any]
):
    answer = server.get(path, **query)
    assert answer.refused(422, "Invalid")["details"]["kind"] == "ListOptions"


def test_an_empty_list_has_items(server: Server, namespace: str):
    assert server.get(widgets(namespace)).expect(200).json["items"] == []


def test_a_missing_namespace_lists_nothing(server: Server):
    assert server.get(widgets("nowhere")).expect(200).json["items"] == []


def test_an_unknown_resource_is_not_found(server: Server, namespace: str):
    path = f"/apis/contract.example.com/v1/namespaces/{namespace}/gadgets"
    assert server.get(path).status == 404


def test_metadata_alone(server: Server, path: str):
    form = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    listed = server.call("GET", path, headers={"Accept": form}).expect(200).json
    assert listed["kind"] == "PartialObjectMetadataList"
    assert listed["apiVersion"] == "meta.k8s.io/v1"
    first = listed["items"][0]
    assert set(first) <= {"kind", "apiVersion", "metadata"}
    assert first["metadata"]["labels"]["color"] == "red"


def test_a_table(server: Server, path: str):
    form = "application/json;as=Table;g=meta.k8s.io;v=v1"
    table = server.call("GET", path, headers={"Accept": form}).expect(200).json
    assert table["kind"] == "Table"
    assert [c["name"] for c in table["columnDefinitions"]] == ["Name", "Size", "Age"]
    assert [row["cells"][:2] for row in table["rows"]][:2] == [["a", 3], ["b", 2]]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


@pytest.mark.parametrize(
    ("included", "kind"), [("Object", "Widget"), ("Metadata", "PartialObjectMetadata")]
)
def test_rows_hold_as_much_as_was_asked_for(
    server: Server, path: str, included: str, kind: str
):
    accept = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
    answer = server.call("GET", f"{path}?includeObject={included}", headers=accept)
    assert answer.expect(200).json["rows"][0]["object"]["kind"] == kind
    answer = server.call("GET", f"{path}?includeObject=None", headers=accept)
    assert answer.expect(200).json["rows"][0].get("object") is None


def test_a_table_is_watched(server: Server, path: str):
    accept = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
    query = "watch=true&timeoutSeconds=1&fieldSelector=metadata.name=a"
    answer = server.call("GET", f"{path}?{query}", headers=accept).expect(200)
    (row,) = answer.json["object"]["rows"]
    assert row["cells"][0] == "a"


def token_of(**content):
    text = json.dumps({"v": "meta.k8s.io/v1", "rv": 5, "start": "/x"} | content)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"v": "meta.k8s.io/v2"}, "server does not recognize this encoded version "),
        ({"v": ""}, "server does not recognize this encoded version "),
        ({"rv": 0}, "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"),
    ],
    ids=["version", "no version", "no resource version"],
)
def test_a_token_of_another_make_is_refused(server: Server, path: str, content, why):
    answer = server.get(path, limit=2, **{"continue": token_of(**content)})
    message = answer.refused(400, "BadRequest")["message"]
    assert message.startswith("invalid continue token: continue key is not valid: ")
    assert why in message


def test_a_token_of_no_version_goes_on_in_what_is_there_now(server: Server, path: str):
    """Such a token comes with the refusal of one that is too old."""
    token = server.get(path, limit=2).json["metadata"]["continue"]
    content = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    for name in ("aa", "bb"):
        server.post(path, widget(name)).expect(201)
    server.delete(f"{path}/c").expect(200)
    query = {"limit": 2, "continue": token_of(**content | {"rv": -1})}
    page = server.get(path, **query).expect(200)
    assert names(page) == ["bb", "d"]
    assert page.json["metadata"]["remainingItemCount"] == 1
    assert int(page.rv) > int(content["rv"])
    server.delete(f"{path}/e").expect(200)
    last = server.get(path, **{"continue": page.json["metadata"]["continue"]})
    assert names(last.expect(200)) == ["e"]
    assert last.rv == page.rv
