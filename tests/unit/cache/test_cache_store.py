"""A store's indexes: values of one key, of many, and of none again."""

import asyncio
import random

import pytest

from asoreconcile.base.objects import ObjectKey
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.store import Store

KEYS = [ObjectKey(space, name) for space in ("a", "b") for name in ("x", "y", "z")]


def entry(key, *values):
    meta = {"namespace": key.namespace, "name": key.name}
    return Entry({"metadata": meta | {"labels": dict.fromkeys(values, "")}})


@pytest.fixture
def store():
    made = Store()
    made.add_index("label", lambda one: one.labels)
    return made


@pytest.mark.parametrize("most_recent", [256, 2, 0])
def test_an_index_says_what_looking_at_each_would(store, monkeypatch, most_recent):
    monkeypatch.setattr("asoreconcile.cache.store._MOST_RECENT", most_recent)
    chance, there = random.Random(7), {}
    for step in range(400):
        if step == 200:  # a second one, over what is there
            store.add_index("late", lambda one: one.labels)
        key = chance.choice(KEYS)
        if chance.random() < 0.6:
            values = chance.sample("pqr", chance.randrange(4))
            store.put(entry(key, *values))
            there[key] = set(values)
        else:
            store.remove(key)
            there.pop(key, None)
        for value in "pqr":
            wanted = sorted(k for k, values in there.items() if value in values)
            assert store.by_index("label", value) == wanted
            if step >= 200:
                assert store.by_index("late", value) == wanted
        for space in ("a", "b", "c"):
            wanted = sorted(k for k in there if k.namespace == space)
            assert store.keys(space) == wanted
            assert store.by_index("namespace", space) == wanted


def test_nothing_is_left_of_a_value_that_none_has(store):
    for key in KEYS:
        store.put(entry(key, "p"))
    for key in KEYS:
        store.remove(key)
    assert store._indexes == {"label": {}}
    assert store._namespaces == {}


def test_a_value_that_is_given_twice_holds_the_key_once(store):
    store.add_index("twice", lambda one: [*one.labels, *one.labels])
    for key in KEYS[:2]:
        store.put(entry(key, "p"))
        store.put(entry(key, "p"))
    assert store.by_index("twice", "p") == KEYS[:2]
    for key in KEYS[:2]:
        store.remove(key)
    assert store._indexes["twice"] == {}


def test_an_index_answers_a_list_of_values_not_one(store, caplog):
    """Else an object would be found under each letter."""
    store.put(entry(KEYS[0]))
    store.add_index("namespaces", lambda one: one.namespace)
    assert not store.by_index("namespaces", "a")
    assert "the text 'a': answer a list" in caplog.text


@pytest.mark.parametrize("error", [ValueError, SystemExit, asyncio.CancelledError])
def test_an_index_function_that_raises_gives_that_object_no_values(store, error):
    def leave(one):
        if one.key == KEYS[0]:
            raise error
        return one.labels

    store.add_index("odd", leave)
    store.put(entry(KEYS[0], "p"))
    store.put(entry(KEYS[1], "p"))
    assert store.by_index("odd", "p") == [KEYS[1]]
