"""JSON of any depth: plain at the top, sealed below, and whole again when written."""

import itertools
import json
import subprocess
import sys
import threading

import orjson
import pytest

from asoreconcile.base import jsontext
from asoreconcile.base.jsontext import LEVELS, DeepJson
from asoreconcile.base.objects import copy_json


def nested(levels, inner="1"):
    return ('{"a":' * levels + inner + "}" * levels).encode()


def lists(levels):
    return b"[" * levels + b"]" * levels


def plain_levels(value):
    levels, level = 0, [value]
    while level := [one for one in level if isinstance(one, dict | list)]:
        level = [
            v for one in level for v in (one.values() if isinstance(one, dict) else one)
        ]
        levels += 1
    return levels


AROUND_EVERY_LIMIT = [
    1,
    99,
    100,
    101,
    200,
    201,
    253,
    254,
    255,
    1023,
    1024,
    1025,
    10_000,
]


@pytest.mark.parametrize("make", [nested, lists])
@pytest.mark.parametrize("levels", AROUND_EVERY_LIMIT)
def test_what_is_read_is_written_again_and_never_plain_beyond_its_levels(levels, make):
    text = make(levels)
    found = jsontext.loads(text)
    assert jsontext.dumps(found) == text
    assert jsontext.dumps([{"x": found}]) == b'[{"x":' + text + b"}]"
    assert plain_levels(found) == min(levels, LEVELS)
    assert jsontext.loads(text.decode()) == found
    assert jsontext.dumps(jsontext.loads_plain(text)) == text
    assert plain_levels(jsontext.settled(jsontext.loads_plain(text))) <= LEVELS


@pytest.mark.parametrize("levels", AROUND_EVERY_LIMIT)
def test_a_value_has_shallow_text_exactly_where_it_stays_plain(levels):
    """The limit of orjson's that this leans on: another one would fail here."""
    value = jsontext.loads_plain(nested(levels))
    shallow = jsontext.shallow_text(value)
    assert (shallow is not None) == (levels <= LEVELS)
    assert shallow in (None, nested(levels))


def test_what_is_shallow_does_not_hang_on_what_came_before():
    """How it is found out does: by a count of brackets, or by orjson's own limit."""
    wide = {str(n): [{}] for n in range(LEVELS)}
    few = {"a": "{[" * (LEVELS // 2 - 1)}
    known = [(wide, True), (few, True), (jsontext.loads_plain(nested(101)), False)]
    for first, second in itertools.product(known, repeat=2):
        for value, is_shallow in (first, second):
            text = orjson.dumps(value) if is_shallow else None
            assert jsontext.shallow_text(value) == text


@pytest.mark.parametrize("levels", AROUND_EVERY_LIMIT)
def test_a_copy_is_equal_and_independent(levels):
    value = jsontext.loads(nested(levels))
    copied = copy_json(value)
    assert copied == value
    copied["b"] = 1
    assert "b" not in value


def test_text_inside_deep_parts_is_kept():
    text = json.dumps('a "quoted" \\ {[ \u00e9 \n \u0000 \ud83d\ude00')
    for levels in (250, 450, 2000):
        written = jsontext.dumps(jsontext.loads(nested(levels, text)))
        assert text in json.dumps(jsontext.loads(written[levels * 5 : -levels]))


def test_names_are_in_order_in_deep_parts_and_where_asked_for():
    one = jsontext.loads(nested(300, '{"x":1,"y":[2]}'))
    other = jsontext.loads(nested(300, '{"y": [2], "x": 1}'))
    assert one == other
    plain = {"b": jsontext.loads(nested(300)), "a": 1}
    assert jsontext.dumps(plain, sort_keys=True).startswith(b'{"a":1,"b":')


def test_the_same_depth_elsewhere_is_still_equal():
    """A spec and Azure's answer hold the same value at different places."""
    spec = jsontext.loads(b'{"spec":{"x":' + nested(300) + b"}}")["spec"]["x"]
    body = jsontext.loads(b'{"p":{"q":{"x":' + nested(300) + b"}}}")["p"]["q"]["x"]
    other = jsontext.loads(b'{"p":{"q":{"x":' + nested(300, "2") + b"}}}")["p"]["q"][
        "x"
    ]
    assert spec == body
    assert spec != other
    assert DeepJson(b"[1]") == [1]
    assert DeepJson(b"[1]") != "[1]"


def test_plain_values_of_any_depth_are_written():
    value = {"end": [1, {"x": None}]}
    for _ in range(4000):
        value = {"b": [value, "text", {}], "a": 1.5}
    text = jsontext.dumps(value)
    assert jsontext.dumps(jsontext.loads(text)).count(b'"end"') == 1
    assert jsontext.dumps(value, sort_keys=True).startswith(b'{"a":1.5,"b":[{"a":1.5')


def test_what_json_has_no_word_for_is_refused_or_translated():
    with pytest.raises(TypeError):
        jsontext.dumps({"a": object()})
    assert jsontext.dumps({"a": {1j}}, default=lambda _: "set") == b'{"a":"set"}'
    deep = jsontext.loads(nested(300))
    assert jsontext.dumps([deep, 1j], default=str) == b"[" + nested(300) + b',"1j"]'


@pytest.mark.parametrize(
    "text",
    [
        nested(300)[:-1],
        nested(300) + b"}",
        nested(2000)[:-1],
        nested(2000) + b"}",
        nested(2000).replace(b"1", b"x"),
        nested(2000).replace(b"}", b"]"),
        nested(10_001),
        b"[" * 100_000,
        nested(2000)[:-2001] + b'"1' + b"}" * 2000,
        b"]" * 2000 + b"[" * 2000,
        b"",
    ],
    ids=str,
)
def test_what_is_no_json_is_refused(text):
    with pytest.raises(jsontext.JSONDecodeError):
        jsontext.loads(text)


def test_nothing_that_a_text_says_is_taken_for_a_sealed_part(monkeypatch):
    """The mark is drawn for each reading: a text that holds one has an old one."""
    marks = iter(["first", "second"])

    class Drawn:
        @property
        def hex(self):
            return next(marks)

    monkeypatch.setattr(jsontext.uuid, "uuid4", Drawn)
    jsontext.loads(nested(300))
    found = jsontext.loads(b'{"forged":"first0","x":' + nested(300) + b"}")
    assert found["forged"] == "first0"


def test_threads_do_not_see_each_others_values(monkeypatch):
    found = []

    def write(name):
        value = {name: [name] * 50}
        expected = orjson.dumps(value)
        found.append(all(jsontext.shallow_text(value) == expected for _ in range(2000)))

    threads = [threading.Thread(target=write, args=(n,)) for n in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4


_READ_AT_ONCE = """
import re
from pathlib import Path
from asoreconcile.base import jsontext
from asoreconcile.kube.listing import Listing

class Stream:
    def chunks(self):
        yield text

piece = {piece!r}
inner = b'"' + piece * (1_500_000 // len(piece)) + b'"'
def most():
    said = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", said)[1]) // 1024
if {levels}:
    text = b"[" * {levels} + inner + b"]" * {levels}
    before = most()
    jsontext.loads(text)
else:
    parts = b",".join([b'{{"metadata":{{"a":1}}}}'] * 20)
    one = b'{{"metadata":{{"name":"a"}},"list":[%s,%s]}}' % (parts, inner)
    text = b'{{"metadata":{{}},"items":[' + one + b"," + one + b"]}}"
    before = most()
    assert sum(1 for _ in Listing(Stream()).polled()) == 2
print(most() - before)
"""


@pytest.mark.parametrize("levels", [0, 300, 1100, 10_000])
@pytest.mark.parametrize("piece", [b"x", rb"\n"], ids=["plain", "escaped"])
def test_somebodys_megabyte_does_not_fill_the_memory_of_who_reads_it(levels, piece):
    """It is written anew at no level, and no sign of it remembered. `re`'s memory is
    seen from outside alone, so a process of its own reads. 0 levels: an object of a
    list, whose end is counted out.
    """
    asked = _READ_AT_ONCE.format(levels=levels, piece=piece)
    ran = subprocess.run(
        [sys.executable, "-c", asked], check=True, capture_output=True, text=True
    )
    assert int(ran.stdout) < 50, "MiB for 1.5"


def test_parts_within_parts_are_whole_again_names_in_order():
    inner = {"z": 1, "a": ["x", {"b": None}]}
    value = inner
    for number in range(450):
        value = {"z": [value, number], "a": f'"{number}', "m": [[{}], inner]}
    text = jsontext.dumps(value)
    found = jsontext.loads(text)
    assert jsontext.dumps(found, sort_keys=True) == jsontext.dumps(
        value, sort_keys=True
    )
    level, sealed = [found], []
    while level:
        level = [
            one
            for outer in level
            for one in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(one, dict | list | DeepJson)
        ]
        sealed += [one for one in level if isinstance(one, DeepJson)]
        level = [one for one in level if not isinstance(one, DeepJson)]
    # Of 902 levels all below the hundredth are in there, sealed again once opened.
    (part,) = {one for one in sealed if len(one.text) > len(text) // 2}
    assert plain_levels(part.opened()) == LEVELS
    assert part == jsontext.loads_plain(part.text)


@pytest.mark.parametrize("more", [rb"\"", rb"\\\"x", b"x"])
def test_a_string_without_an_end_is_looked_through_once(more):
    """Looked for again at each quote inside, it would take hours."""
    for text in (b"[" * 1100 + b'"' + more * 500_000, b"[" * 1100 + b'"\\'):
        with pytest.raises(jsontext.JSONDecodeError):
            jsontext.loads(text)


def test_text_with_many_brackets_that_is_no_json_is_read_once(monkeypatch):
    monkeypatch.setattr(jsontext, "seal", None)
    with pytest.raises(jsontext.JSONDecodeError, match="expected 'true'"):
        jsontext.loads(b"[" + b"[]," * 10_000 + b"tru]")
