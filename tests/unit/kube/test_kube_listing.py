"""Lists cut into objects while they come in: however they are written and chunked."""

import json
import random

import orjson
import pytest

from asoreconcile.base import jsontext
from asoreconcile.base.foreign_json import NoNumber
from asoreconcile.kube.errors import DecodeError
from asoreconcile.kube.listing import Listing

META = {"resourceVersion": "9", "continue": "more"}


class Read(Listing):
    """A list that is iterated; its stream never waits."""

    __iter__ = Listing.polled


class Stream:
    """A list in pieces; counts what was taken of them."""

    def __init__(self, text, sizes):
        self.text, self.sizes = text, sizes
        self.given = 0

    def chunks(self):
        at = 0
        while at < len(self.text):
            size = self.sizes()
            self.given += 1
            yield self.text[at : at + size]
            at += size


def custom(number):
    """As a server writes custom resources: names sorted, kind and version in each."""
    api_version = "example.com/v1"
    owner = {"apiVersion": api_version, "kind": "Thing", "name": 'a"},{"b'}
    return {
        "apiVersion": api_version,
        "kind": "Thing",
        "metadata": {
            "managedFields": [{"apiVersion": api_version, "fieldsType": "V1"}] * 3,
            "name": f"t{number}",
            # Begins just as an object of the list does.
            "ownerReferences": [owner, owner],
        },
        "spec": {"text": '}]}, {"items":[{\\ "x": "' * 3, "list": [{}, {"a": []}]},
    }


def builtin(number):
    """As a server writes its own kinds."""
    return {
        "metadata": {"name": f"m{number}"},
        "data": {"k": '},{"metadata":{"', "é": "\u2028"},
        "list": [{"metadata": {"name": "inner"}}, {"metadata": {"name": "inner"}}],
    }


def partial(number):
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"name": f"p{number}"},
    }


def tail(items):
    return {"apiVersion": "v1", "items": items, "kind": "List", "metadata": META}


def head(items):
    return {"kind": "List", "apiVersion": "v1", "metadata": META, "items": items}


def spaced(document):
    return json.dumps(document, indent=1).encode()


@pytest.mark.parametrize(
    "make", [custom, builtin, partial], ids=lambda one: one.__name__
)
@pytest.mark.parametrize("around", [tail, head], ids=lambda one: one.__name__)
@pytest.mark.parametrize("count", [0, 1, 2, 7])
@pytest.mark.parametrize("write", [orjson.dumps, spaced], ids=["compact", "spaced"])
def test_objects_come_whole_however_they_are_cut(make, around, count, write):
    objects = [make(number) for number in range(count)]
    text = write(around(objects))
    seeded = random.Random(count)
    for sizes in (
        lambda: 1,
        lambda: 7,
        lambda: len(text),
        lambda: seeded.randint(1, 200),
    ):
        listing = Read(Stream(text, sizes))
        assert list(listing) == objects
        assert (listing.resource_version, listing.continue_token) == ("9", "more")


def test_objects_come_before_the_list_has_ended():
    objects = [custom(number) for number in range(10)]
    text = orjson.dumps(head(objects))
    stream = Stream(text, lambda: len(text) // 20)
    assert next(iter(Read(stream))) == objects[0]
    assert stream.given <= 5


def test_objects_that_begin_differently_come_all_the_same():
    objects = [custom(1), builtin(2), partial(3), custom(4), {"a": 1}]
    listing = Read(Stream(orjson.dumps(tail(objects)), lambda: 11))
    assert list(listing) == objects


def test_list_without_items_is_empty():
    for items in (None, []):
        listing = Read(Stream(orjson.dumps(head(items)), lambda: 5))
        assert list(listing) == []
        assert listing.resource_version == "9"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"<html>", id="no-json"),
        pytest.param(b"[]", id="no-object"),
        pytest.param(orjson.dumps(head([custom(1), custom(2)]))[:-3], id="cut-short"),
        pytest.param(orjson.dumps(tail([custom(1)]))[:-40], id="cut-in-the-tail"),
    ],
)
def test_answer_that_is_no_whole_list_says_so(text):
    with pytest.raises(DecodeError):
        list(Read(Stream(text, lambda: 16)))


def test_an_object_is_there_once_the_next_one_begins():
    """Byte by byte: what tells them apart never comes in one piece."""
    items = [custom(number) for number in range(3)]
    text = orjson.dumps({"metadata": META, "items": items})
    stream = Stream(text, lambda: 1)
    assert next(iter(Read(stream))) == items[0]
    assert stream.given < len(text) * 0.5


@pytest.mark.parametrize("levels", [300, 1100, 9000])
@pytest.mark.parametrize("around", [tail, head], ids=lambda one: one.__name__)
def test_objects_nested_deep_hold_up_no_other(levels, around):
    deep = "[" * levels + "]" * levels
    items = [custom(1), {**custom(2), "spec": "DEEP"}, custom(3), custom(4)]
    text = orjson.dumps(around(items)).replace(b'"DEEP"', deep.encode())
    found = list(Read(Stream(text, lambda: 1000)))
    assert [one["metadata"]["name"] for one in found] == ["t1", "t2", "t3", "t4"]
    assert jsontext.dumps(found[1]["spec"]) == deep.encode()


@pytest.mark.parametrize("deep", ["", "[" * 3000 + "]" * 3000], ids=["flat", "deep"])
@pytest.mark.parametrize("size", [700, 65536, 10_000_000])
def test_an_object_made_of_what_looks_like_ends_costs_no_more_than_its_length(
    monkeypatch, size, deep
):
    """Each place that may be the end of it would be one more reading of all before."""
    read = []

    def counted(text, loads=jsontext.loads_plain):
        read.append(len(text))
        return loads(text)

    monkeypatch.setattr(jsontext, "loads_plain", counted)
    item = {"apiVersion": "example.com/v1", "kind": "Thing"}
    evil = {**custom(2), "spec": ["DEEP", *[item] * 5000, '"}{[' * 100]}
    text = orjson.dumps(tail([custom(1), evil, custom(3), evil, custom(4)]))
    text = text.replace(b'"DEEP"', deep.encode() or b"1")
    found = list(Read(Stream(text, lambda: size)))
    names = [one["metadata"]["name"] for one in found]
    assert names == ["t1", "t2", "t3", "t2", "t4"]
    assert sum(read) < 3 * len(text)


def broken(text):
    """Where `text` stands raw in the second of forty objects."""
    items = [custom(number) for number in range(40)]
    items[1]["spec"] = {"raw": "HERE"}
    return items, lambda around: orjson.dumps(around(items)).replace(b'"HERE"', text)


@pytest.mark.parametrize("sizes", [1, 700, 1 << 20])
@pytest.mark.parametrize("around", [tail, head], ids=lambda one: one.__name__)
@pytest.mark.parametrize(
    ("text", "read"),
    [(rb'"\ud800"', "\ufffd"), (b'"x\xff"', "x\ufffd"), (b"1e999", NoNumber("inf"))],
    ids=["half", "no-utf8", "no-number"],
)
def test_rf9_an_object_that_is_no_json_holds_up_no_other(around, sizes, text, read):
    items, write = broken(text)
    items[1]["spec"] = {"raw": "HERE"}
    listing = Read(Stream(write(around), lambda: sizes))
    items_read = list(listing)
    items[1]["spec"] = {"raw": read}
    assert items_read == items
    assert listing.resource_version == "9"


@pytest.mark.parametrize("text", [rb'"\ud800"', b"1e999", b"tru", b"[" * 20_000])
def test_rf9_an_object_that_is_no_json_costs_its_length(monkeypatch, text):
    """However many objects come after it: counted are the bytes that are decoded."""
    decoded, loads = 0, orjson.loads

    def counted(what):
        nonlocal decoded
        decoded += len(what)
        return loads(what)

    monkeypatch.setattr(orjson, "loads", counted)
    items = [{**custom(number), "spec": {"text": "x" * 500}} for number in range(2000)]
    items[1]["spec"] = {"raw": "HERE"}
    whole = orjson.dumps(head(items)).replace(b'"HERE"', text)
    listing = Read(Stream(whole, lambda: 16 << 10))
    if text in (b"tru", b"[" * 20_000):
        # Nothing of the object in the error: it may be a Secret.
        with pytest.raises(DecodeError, match=r"^the answer is no list: .{5,90}$"):
            list(listing)
    else:
        assert len(list(listing)) == 2000
    assert decoded < 4 * len(whole)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"kind": "Status", "status": "Success"},
        {"items": {}, "metadata": META},
        {"items": "none"},
        {"items": 0},
        {"items": [None]},
        {"items": [custom(1), None, custom(2)]},
        {"items": [custom(1), 5]},
        {"items": [custom(1), *[[custom(2)]] * 9, custom(3)]},
    ],
)
def test_a_document_that_is_no_list_of_objects_is_no_empty_list(document):
    with pytest.raises(DecodeError, match="the answer is no list"):
        list(Read(Stream(orjson.dumps(document), lambda: 40)))


@pytest.mark.parametrize("meta", [5, [], None, "x", {"resourceVersion": None}])
def test_a_list_without_a_version_has_none(meta):
    listing = Read(Stream(orjson.dumps({"items": [], "metadata": meta}), lambda: 9))
    assert list(listing) == []
    assert (listing.resource_version, listing.continue_token) == ("", "")
