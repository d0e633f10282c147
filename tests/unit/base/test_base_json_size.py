"""JSON text is measured in memory before it is parsed."""

import random
import tracemalloc

import orjson
import pytest

from asoreconcile.base.json_size import (
    MOST_VALUE_BYTES,
    JsonSizeError,
    ListItems,
    NoJsonError,
    check_size,
    list_start,
    most_value_bytes,
    value_end,
)

MIB = 1 << 20


def bomb(piece, size):
    return b"[" + b",".join([piece] * (size // (len(piece) + 1))) + b"]"


@pytest.mark.parametrize("piece", [b"[]", b"{}", b"[0]", b'{"":0}', b'{"":[]}'])
def test_values_of_seven_mib_of_brackets_are_too_large(piece):
    with pytest.raises(JsonSizeError, match="too much memory"):
        check_size(bomb(piece, 7 * MIB))


@pytest.mark.parametrize("piece", [b"[]", b"{}", b"[0]", b'{"":0}'])
def test_the_longest_object_that_an_api_server_accepts_is_no_attack(piece):
    check_size(bomb(piece, 3 * MIB + MIB // 2))


@pytest.mark.parametrize(
    "piece", [b"[]", b"{}", b"[0]", b'{"":0}', b'"a"', b"1.5", b"12345678", b"null"]
)
def test_the_bound_holds(piece):
    """The values that orjson makes take no more than was estimated."""
    text = bomb(piece, MIB)
    tracemalloc.start()
    try:
        found = orjson.loads(text)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(found) > 1000
    assert taken < most_value_bytes(text)


def test_brackets_in_strings_do_not_count():
    applied = orjson.dumps({"a": [[{}, '"\\']] * 50_000}).decode()
    text = orjson.dumps({"metadata": {"annotations": {"last-applied": applied * 8}}})
    assert most_value_bytes(text) > MOST_VALUE_BYTES
    check_size(text)


def test_text_is_refused_beyond_the_depth_that_an_api_server_accepts():
    check_size(b"[" * 10_000 + b"]" * 10_000)
    with pytest.raises(JsonSizeError, match="deeper than 10000"):
        check_size(b"[" * 10_020 + b"]" * 10_020)


@pytest.mark.parametrize(
    "text", [b"[", b'["', b'["]', b'{"a": "b\\"}', b'["' + b"a" * MIB, b'["\\' * 999]
)
def test_a_list_without_an_end_is_no_json(text):
    with pytest.raises(NoJsonError, match="no end"):
        check_size(text)


@pytest.mark.parametrize("text", [b"", b"1", b'"[[["', b" null "])
def test_text_without_brackets_has_no_size(text):
    check_size(text)


def test_an_end_is_found_as_a_parser_finds_it():
    draw = random.Random(38)
    for _ in range(300):
        value = drawn(draw, 5)
        if not isinstance(value, (dict, list)):
            continue
        text = orjson.dumps(value, option=draw.choice([0, orjson.OPT_INDENT_2]))
        padded = b"  " + text + b', {"rest": ['
        assert value_end(padded, 2, most_bytes=len(text)) == 2 + len(text)
        with pytest.raises(JsonSizeError, match="longer"):
            value_end(padded, 2, most_bytes=len(text) - 1)


def drawn(draw, levels):
    leaf = draw.choice(['a"]}', "\\", '\\"', "", 1, -2.5, None, True, "é}"])
    if levels == 0 or draw.random() < 0.2:
        return leaf
    members = [drawn(draw, levels - 1) for _ in range(draw.randrange(4))]
    if draw.random() < 0.5:
        return members
    return {
        f"{draw.choice(['k', '[', chr(34)])}{at}": m for at, m in enumerate(members)
    }


def nested(value, levels):
    for _ in range(levels):
        value = [value]
    return value


def test_objects_of_a_list_are_found_without_parsing():
    draw = random.Random(7)
    for _ in range(200):
        objects = [
            {"id": at, "x": nested(drawn(draw, 4), at * 4)}
            for at in range(draw.randrange(6))
        ]
        review = {"kind": "R", "request": {"uid": "u", "objects": objects}, "z": [1]}
        text = orjson.dumps(review, option=draw.choice([0, orjson.OPT_INDENT_2]))
        start = list_start(text, ("request", "objects"), within=1000)
        items = ListItems(text, start, least=2, most=MIB)
        for _ in items.find():
            pass
        assert [orjson.loads(one) for one in items.texts()] == objects
        assert orjson.loads(text[:start] + b"]" + text[items.end :]) == {
            **review,
            "request": {"uid": "u", "objects": []},
        }


@pytest.mark.parametrize(
    "review",
    [
        {"objects": [1]},
        {"request": {"inner": {"objects": [1]}}},
        {"request": [{"objects": [1]}]},
        {"other": {"objects": [1]}},
        {"request": {"uid": '"objects":['}},
    ],
)
def test_another_list_of_that_name_is_not_taken(review):
    assert list_start(orjson.dumps(review), ("request", "objects"), within=1000) == -1


@pytest.mark.parametrize(
    "rest", [b"[]]", b"1]", b'"{}"]', b"{}{}]", b"{},]", b",{}]", b"{} {}]", b""]
)
def test_a_list_of_anything_else_is_refused(rest):
    items = ListItems(rest, 0, least=2, most=100)
    with pytest.raises(NoJsonError):
        list(items.find())


def test_tiny_objects_are_refused_at_the_first():
    items = ListItems(b"{}," * 1000 + b"{}]", 0, least=31, most=100)
    with pytest.raises(NoJsonError, match="no apiVersion"):
        next(items.find())
