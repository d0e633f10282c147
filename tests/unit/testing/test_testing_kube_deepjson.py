"""Deep JSON: sealed beyond 200 levels, and JSON again when written."""

import json

import pytest

from asoreconcile.testing.kube.wire import deepjson


def nested(levels, inner="1"):
    return ('{"a":' * levels + inner + "}" * levels).encode()


@pytest.mark.parametrize("levels", [1, 199, 200, 201, 400, 401, 601, 2000, 10_000])
def test_what_is_read_is_written_again(levels):
    body = nested(levels)
    found = deepjson.loads(body)
    assert deepjson.dumps(found) == body
    assert deepjson.is_deep(found) is (levels > deepjson.LEVELS)


def test_text_inside_deep_parts_is_kept():
    text = json.dumps('a "quoted" \\ {[ \u00e9 \n \u0000 \ud83d\ude00')
    body = nested(450, text)
    written = deepjson.dumps(deepjson.loads(body))
    assert json.loads(written) == json.loads(body)


def test_order_of_names_makes_no_difference():
    one = deepjson.loads(nested(300, '{"x":1,"y":2}'))
    other = deepjson.loads(nested(300, '{"y": 2, "x": 1}'))
    assert one == other


@pytest.mark.parametrize(
    "body",
    [
        nested(300)[:-1],
        nested(300) + b"}",
        nested(300).replace(b"1", b"x"),
        nested(300).replace(b"}", b"]"),
        nested(10_001),
        b'"\\u0000sealed\\u0000[]"',
        b'{"a": "\\u0000sealed\\u0000]"}',
    ],
    ids=["cut", "closed", "word", "other", "deep", "forged", "forged-inside"],
)
def test_what_is_no_json_is_refused(body):
    with pytest.raises(ValueError):
        deepjson.loads(body)


def test_what_was_put_together_is_sealed_again():
    inner = deepjson.loads(nested(150))
    outer = holder = deepjson.loads(nested(150))
    for _ in range(149):
        holder = holder["a"]
    holder["a"] = inner
    assert deepjson.settled(outer) == deepjson.loads(nested(300))
    assert deepjson.dumps(outer) == nested(300)
