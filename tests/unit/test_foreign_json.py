"""Text that orjson refuses: mended as Go reads it, and numbers that are none by name."""

import json
import math
import random

import orjson
import pytest

from asoreconcile.base import foreign_json, jsontext
from asoreconcile.base.foreign_json import NoNumber

MARK = "\ufffd"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (rb'"\ud800"', MARK),
        (rb'"\uDFFFx"', MARK + "x"),
        (rb'"\ud800\ud800\udc00"', MARK + "\U00010000"),
        (rb'"\udc00\ud800"', MARK * 2),
        (rb'"\ud800\u0041"', MARK + "A"),
        (rb'"\\ud800"', r"\ud800"),
        (rb'"\\\ud800"', "\\" + MARK),
        (rb'"\\\\ud800 \ud800"', r"\\ud800 " + MARK),
        (rb'"\ud83d\ude00 \ud83d"', "\U0001f600 " + MARK),
        (b'"x\xff\xfey"', f"x{MARK}{MARK}y"),
        # Each byte is one mark, of a surrogate's three and of a character cut short.
        (b'"\xed\xa0\x80"', MARK * 3),
        (b'"\xe2\x82x"', MARK * 2 + "x"),
        (b'{"\xff": "\\ud800"}', {MARK: MARK}),
    ],
)
def test_half_characters_and_odd_bytes_are_read_as_go_reads_them(text, read):
    assert jsontext.loads(text) == read
    assert jsontext.loads_plain(text) == read
    assert jsontext.loads_foreign(text) == read


@pytest.mark.parametrize("levels", [1, 200, 1100])
def test_deep_text_is_mended_too(levels):
    text = b"[" * levels + rb'"\ud800"' + b"]" * levels
    whole = text.replace(rb"\ud800", MARK.encode())
    assert jsontext.dumps(jsontext.loads(text)) == whole


def test_text_of_any_bytes_is_mended_once_and_for_all():
    seeded = random.Random(7)
    pieces = [
        rb"\ud800",
        rb"\udc00",
        rb"\\",
        rb"\"",
        rb"\n",
        b"\xff",
        b"\xe2\x82",
        b"x",
        "é\U0001f600".encode(),
        b"ud800",
    ]
    for _ in range(2000):
        inner = b"".join(seeded.choices(pieces, k=seeded.randrange(9)))
        text = b'"' + inner + b'"'
        mended = foreign_json.mended(text)
        assert foreign_json.mended(mended) == mended
        # Python's reader keeps half characters apart: what it finds is marked after.
        halves = json.loads(text.decode("utf-8", "surrogateescape"))
        expected = "".join(
            MARK if 0xD800 <= ord(sign) < 0xE000 else sign for sign in halves
        )
        assert orjson.loads(mended) == expected


@pytest.mark.parametrize(
    "text",
    [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"9" * 400, b"9" * 5000],
)
def test_a_number_that_is_none_is_named_and_never_written(text):
    with pytest.raises(jsontext.JSONDecodeError):
        jsontext.loads(text)
    found = jsontext.loads_foreign(b'{"a":[%s],"b":1,"c":1.5}' % text)
    assert (found["b"], found["c"]) == (1, 1.5)
    (number,) = found["a"]
    assert isinstance(number, NoNumber)
    assert not math.isfinite(number)
    with pytest.raises(TypeError, match="which JSON does not have"):
        jsontext.dumps(found)
    with pytest.raises(TypeError, match="which JSON does not have"):
        jsontext.settled(found)


def test_other_numbers_are_the_same_beside_one_that_is_none():
    text = b"[123456789012345678901234567890, -0, -0.0, 1e-999, 9007199254740993]"
    plain = jsontext.loads(text)
    beside = jsontext.loads_foreign(b"[NaN," + text[1:])
    assert repr(beside[1:]) == repr(plain)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"tru",
        b'{"a":NaN',
        b"\xef\xbb\xbf{}",
        b'"\x01"',
        b"[" * 20_000 + b"NaN" + b"]" * 20_000,
        b"[" * 200_000,
    ],
)
def test_what_is_no_json_is_refused_and_says_where(text):
    with pytest.raises(jsontext.JSONDecodeError, match=r"char|depth"):
        jsontext.loads_foreign(text)
