"""Marks and hashes by the key of the operator's records."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asoreconcile.azure.reconcile.model.record_key import RecordKey, RecordKeyError

KEY = RecordKey(b"k" * 32)
OTHER = RecordKey(b"o" * 32)
PARTS = st.lists(st.text(), max_size=4)


@given(PARTS, PARTS)
def test_a_mark_verifies_for_its_own_parts_only(parts, others):
    mark = KEY.sign(parts)
    assert KEY.verify(parts, mark)
    assert KEY.verify(others, mark) is (parts == others)
    assert not OTHER.verify(parts, mark)


@given(st.text())
def test_a_hash_is_never_the_mark_of_the_same_text(text):
    assert KEY.keyed_hash(text) != KEY.sign((text,))
    assert KEY.is_hash_of(text, KEY.keyed_hash(text))
    assert not OTHER.is_hash_of(text, KEY.keyed_hash(text))


@pytest.mark.parametrize(
    ("one", "other"),
    [(("ab", "c"), ("a", "bc")), (("a",), ("a", "")), ((), ("",)), (("1:a",), ("a",))],
)
def test_parts_do_not_run_into_each_other(one, other):
    assert KEY.sign(one) != KEY.sign(other)


@pytest.mark.parametrize("mark", ["", "x", "\ud800", "ä", KEY.sign(("b",))])
def test_any_other_text_is_no_mark(mark):
    assert not KEY.verify(("a",), mark)


def test_marks_of_the_previous_key_count_and_no_new_ones_are_made_with_it():
    rotated = RecordKey.load(OTHER.dumps(), KEY.dumps())
    assert rotated.verify(("a",), KEY.sign(("a",)))
    assert rotated.is_hash_of("a", KEY.keyed_hash("a"))
    assert rotated.sign(("a",)) == OTHER.sign(("a",))
    assert rotated.keyed_hash("a") == OTHER.keyed_hash("a")
    assert not RecordKey.load(OTHER.dumps()).verify(("a",), KEY.sign(("a",)))


@pytest.mark.parametrize("text", ["", "short", "a2V5", "no base64 !", "ä" * 44])
def test_stored_text_that_is_no_key_is_refused(text):
    with pytest.raises(RecordKeyError):
        RecordKey.load(text)


def test_a_key_is_not_shown():
    assert "k" * 4 not in repr(KEY)
    assert KEY.dumps() not in repr(KEY)


def test_new_keys_differ():
    assert RecordKey.new() != RecordKey.new()
