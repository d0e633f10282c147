"""Bodies, paths and queries that are too much, too deep, or nothing at all."""

import pytest
from contractclient import (
    APPLY,
    GROUP,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    config_maps,
    widgets,
)

UNREADABLE = "couldn't get version/kind; json parse error: "


def text(kind, version, name, more=b""):
    head = f'{{"apiVersion":"{version}","kind":"{kind}","metadata":{{"name":"{name}"}}'
    return head.encode() + more + b"}"


def config_map(name, more=b""):
    return text("ConfigMap", "v1", name, more)


def widget(name, more=b""):
    return text("Widget", f"{GROUP}/v1", name, more)


def test_a_body_above_the_limit_is_refused(server, namespace):
    body = config_map("one", b',"data":{"a":"' + b"x" * (3 << 20) + b'"}')
    document = server.post(config_maps(namespace), body).refused(
        413, "RequestEntityTooLarge"
    )
    assert document["message"] == "Request entity too large: limit is 3145728"


def test_a_config_map_holds_a_mebibyte(server, namespace):
    body = config_map("one", b',"data":{"a":"' + b"x" * (1 << 20) + b'"}')
    server.post(config_maps(namespace), body).expect(201)
    body = config_map("two", b',"data":{"a":"' + b"x" * ((1 << 20) + 1) + b'"}')
    document = server.post(config_maps(namespace), body).refused(422, "Invalid")
    assert document["message"] == (
        'ConfigMap "two" is invalid: []: Too long: may not be more than 1048576 bytes'
    )


def test_an_object_is_no_larger_than_storage_takes(server, namespace):
    body = widget("one", b',"spec":{"free":{"a":"' + b"x" * (1600 << 10) + b'"}}')
    answer = server.post(widgets(namespace), body).expect(500)
    assert answer.json["message"] == "etcdserver: request is too large"


@pytest.mark.parametrize("sort", ["application/json", "application/yaml"])
def test_a_body_nested_too_deep_is_refused_and_harms_nothing(server, namespace, sort):
    deep = b'{"a":' * 20_000 + b"1" + b"}" * 20_000
    body = widget("one", b',"spec":{"free":' + deep + b"}")
    answer = server.call("POST", widgets(namespace), body, sort=sort)
    assert answer.status == 400
    assert "exceeded max depth" in answer.json["message"] or sort != "application/json"
    server.get("/readyz").expect(200)


def test_bytes_that_are_no_utf8_become_marks(server, namespace):
    body = config_map("one", b',"data":{"a":"x\xff\xfey"}')
    made = server.post(config_maps(namespace), body).expect(201).json
    assert made["data"] == {"a": "x\ufffd\ufffdy"}


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b'"x"', b"5", b"{", b'{"kind":', b"\x00", b"{} x"],
    ids=["empty", "list", "text", "number", "open", "cut", "nul", "trailing"],
)
def test_a_body_that_is_no_object_is_refused(server, namespace, body):
    document = server.post(config_maps(namespace), body).refused(400, "BadRequest")
    assert document["message"].startswith(
        "the object provided is unrecognized (must be of type ConfigMap): couldn't get "
        "version/kind; json parse error: "
    )


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ({"limit": "-1"}, 200, ""),
        ({"limit": str(1 << 62)}, 200, ""),
        (
            {"limit": "99999999999999999999999"},
            400,
            'strconv.ParseInt: parsing "99999999999999999999999": value out of range',
        ),
        ({"limit": "1e3"}, 400, 'strconv.ParseInt: parsing "1e3": invalid syntax'),
        ({"limit": "1_0"}, 400, 'strconv.ParseInt: parsing "1_0": invalid syntax'),
        (
            {"watch": "1", "timeoutSeconds": "soon"},
            400,
            'strconv.ParseInt: parsing "soon": invalid syntax',
        ),
    ],
    ids=["negative", "large", "absurd", "float", "underscore", "timeout"],
)
def test_numbers_of_a_query_are_numbers(server, namespace, query, status, message):
    answer = server.get(config_maps(namespace), **query).expect(status)
    assert answer.json.get("message", "") == message


def test_a_path_leads_nowhere_else(server, namespace):
    path = config_maps(namespace)
    assert server.get(f"{path}/%2e%2e%2fsecrets").status == 404
    assert server.get(path.replace("/namespaces", "//namespaces")).status == 404
    document = server.get(f"{path}/%2e%2e").refused(400, "BadRequest")
    assert document["message"] == "Name parameter invalid: \"..\": may not be '..'"
    server.get(f"{path}/{'a' * 5000}").refused(404, "NotFound")


def test_a_method_there_is_not_is_refused(server, namespace):
    for method in ("FOO", "OPTIONS", "TRACE"):
        server.call(method, config_maps(namespace)).refused(405, "MethodNotAllowed")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", f"{UNREADABLE}unexpected end of JSON input"),
        (b"{} x", f"{UNREADABLE}invalid character 'x' after top-level value"),
        (b"x", f"{UNREADABLE}invalid character 'x' looking for beginning of value"),
        (b"[" * 10_001, f"{UNREADABLE}invalid character '[' exceeded max depth"),
        (
            b'{"preconditions":[]}',
            (
                "json: cannot unmarshal array into Go struct field "
                "DeleteOptions.preconditions of type v1.Preconditions"
            ),
        ),
        (
            b'{"dryRun":"All"}',
            (
                "json: cannot unmarshal string into Go struct field DeleteOptions.dryRun of "
                "type []string"
            ),
        ),
        (
            b'{"gracePeriodSeconds":true}',
            (
                "json: cannot unmarshal bool into Go struct field "
                "DeleteOptions.gracePeriodSeconds of type int64"
            ),
        ),
    ],
    ids=["open", "trailing", "word", "deep", "preconditions", "dryRun", "grace"],
)
def test_what_is_no_delete_options_deletes_nothing(server, namespace, body, message):
    server.post(config_maps(namespace), {"metadata": {"name": "one"}}).expect(201)
    answer = server.delete(config_maps(namespace, "one"), body)
    assert answer.refused(400, "BadRequest")["message"] == message
    server.get(config_maps(namespace, "one")).expect(200)


@pytest.mark.parametrize(
    ("sort", "status", "message"),
    [
        (MERGE, 400, "Invalid JSON Patch"),
        (JSON_PATCH, 200, ""),
        (STRATEGIC, 200, ""),
        (APPLY, 400, "invalid object type: /, Kind="),
    ],
)
def test_a_patch_that_is_null(server, namespace, sort, status, message):
    server.post(config_maps(namespace), {"metadata": {"name": "one"}}).expect(201)
    path = config_maps(namespace, "one")
    answer = server.patch(path, b"null", sort, fieldManager="me").expect(status)
    assert answer.json.get("message", "") == message
