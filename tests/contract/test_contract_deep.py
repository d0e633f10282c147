"""Documents nested deep: kept and given back up to 10,000 levels, refused beyond."""

import pytest
from contractclient import APPLY, JSON_PATCH, MERGE, config_maps, widget, widgets

SMALL, MOST = 300, 10_000
BEFORE = 3  # levels around the value of spec.free.x


@pytest.fixture(autouse=True)
def nothing_deep_stays(server, namespace):
    """A real server leaves the objects of a deleted namespace, and lists read them."""
    yield
    server.delete(widgets(namespace)).expect(200)


def lists(levels):
    return "[" * levels + "]" * levels


def objects(levels):
    return '{"a":' * levels + "1" + "}" * levels


def body(name, value, field="free"):
    head = f'"apiVersion":"contract.example.com/v1","kind":"Widget","metadata":{{"name":"{name}"}}'
    return f'{{{head},"spec":{{"{field}":{{"x":{value}}}}}}}'.encode()


@pytest.mark.parametrize("sort", ["application/json", "application/yaml"])
@pytest.mark.parametrize(
    "value", [lists(MOST - BEFORE), objects(5000)], ids=["lists", "objects"]
)
def test_what_is_nested_deep_comes_back_as_it_was(server, namespace, sort, value):
    sent = body("one", value)
    made = server.call("POST", widgets(namespace), sent, sort=sort).expect(201)
    assert f'"x":{value}' in made.text
    assert f'"x":{value}' in server.get(widgets(namespace, "one")).expect(200).text


@pytest.mark.parametrize("sort", ["application/json", "application/yaml"])
@pytest.mark.parametrize(("value", "sign"), [(lists, "["), (objects, "{")])
def test_one_level_more_is_refused(server, namespace, sort, value, sign):
    sent = body("one", value(MOST - BEFORE + 1))
    answer = server.call("POST", widgets(namespace), sent, sort=sort)
    message = answer.refused(400, "BadRequest")["message"]
    assert (
        f"invalid character '{sign}' exceeded max depth" in message
        if sort == "application/json"
        else "yaml: exceeded max depth of 10000" in message
    )
    server.get(widgets(namespace, "one")).expect(404)


@pytest.mark.parametrize(("sort", "status"), [(MERGE, 200), (APPLY, 201)])
def test_patches_may_be_as_deep(server, namespace, sort, status):
    if sort == MERGE:
        server.post(widgets(namespace), widget("one"))
    sent = body("one", lists(MOST - BEFORE))
    path = widgets(namespace, "one")
    answer = server.patch(path, sent, sort, fieldManager="me").expect(status)
    assert f'"x":{lists(MOST - BEFORE)}' in answer.text
    refused = server.patch(path, body("one", lists(MOST)), sort, fieldManager="me")
    assert "exceeded max depth" in refused.refused(400, "BadRequest")["message"]


def test_patches_put_deep_things_into_deep_things(server, namespace):
    server.post(widgets(namespace), body("one", objects(150))).expect(201)
    inner, path = objects(190), "/spec/free/x" + "/a" * 149
    for _ in range(2):
        sent = f'[{{"op":"replace","path":"{path}","value":{inner}}}]'.encode()
        answer = server.patch(widgets(namespace, "one"), sent, JSON_PATCH).expect(200)
        assert objects(149 + 190) in answer.text


def test_a_deep_field_that_nobody_knows_is_dropped(server, namespace):
    sent = body("one", objects(5000), field="other")
    made = server.post(widgets(namespace), sent).expect(201).json
    assert made["spec"] == {"size": 1}
    sent = f'{{"metadata":{{"name":"one"}},"other":{objects(5000)}}}'.encode()
    server.post(config_maps(namespace), sent).expect(201)


def test_watches_and_lists_show_all_levels(server, namespace):
    server.post(widgets(namespace), body("one", lists(SMALL))).expect(201)
    listed = server.get(widgets(namespace)).expect(200)
    assert f'"x":{lists(SMALL)}' in listed.text
    with server.watch(widgets(namespace), resourceVersion="0") as events:
        assert next(events)["object"] == listed.json["items"][0]


def test_deep_things_that_are_equal_are_no_change(server, namespace):
    made = server.post(widgets(namespace), body("one", objects(SMALL))).expect(201)
    same = server.put(widgets(namespace, "one"), made.text.encode()).expect(200)
    assert same.rv == made.rv
    other = made.text.replace('"a":1', '"a":2').encode()
    changed = server.put(widgets(namespace, "one"), other).expect(200)
    assert changed.json["metadata"]["generation"] == 2


def test_depth_is_not_hidden_in_what_no_parser_closes(server, namespace):
    for cut in (b'{"a":' * 500, b"[" * 500 + b"}", b'{"a":' * 500 + b"]" * 500):
        server.post(widgets(namespace), cut).refused(400, "BadRequest")
