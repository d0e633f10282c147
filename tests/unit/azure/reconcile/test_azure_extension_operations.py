"""Tokens of extensions' operations are stored with a mark that an author cannot make."""

import pytest

from asoreconcile.azure.arm.tokens import Token, TokenShape
from asoreconcile.azure.reconcile.model.annotations import (
    POLLER_MARK,
    POLLER_TOKEN,
    PUT_POLLER,
)
from asoreconcile.azure.reconcile.model.record_key import RecordKey
from asoreconcile.azure.reconcile.scope.extension_operations import AnnotationLroStore

KEY = RecordKey(b"k" * 32)
TOKEN = '{"type":"GenericResource","token":{"type":"loc","pollURL":"https://arm/x"}}'
ASOS = "serviceoperator.azure.com/bi-poller-resume-token"


class Patcher:
    """The annotations of one object."""

    def __init__(self, uid="u"):
        self.obj = {"metadata": {"uid": uid}}
        self.annotations = {}

    def record(self, notes, *, labelled=None):
        self.annotate(notes)

    def annotate(self, notes):
        kept = {**self.annotations, **notes}
        self.annotations = {n: v for n, v in kept.items() if v is not None}


@pytest.fixture
def patcher():
    return Patcher()


@pytest.fixture
def store(patcher):
    return AnnotationLroStore(patcher, lambda: KEY)


def test_an_own_token_is_read_as_it_was_saved(store, patcher):
    assert store.load("list-keys") is None
    store.save("list-keys", TOKEN)
    assert store.load("list-keys") == TOKEN
    assert list(patcher.annotations) == ["asoreconcile/list-keys-token"]
    store.clear("list-keys")
    assert patcher.annotations == {}


@pytest.mark.parametrize("text", [TOKEN, f"mark {TOKEN}", "", "x"])
def test_a_token_that_an_author_wrote_is_not_followed_and_can_be_cleared(
    store, patcher, text
):
    patcher.annotations = {"asoreconcile/list-keys-token": text}
    assert store.load("list-keys") is None
    store.clear("list-keys")
    assert not patcher.annotations.get("asoreconcile/list-keys-token")


def test_a_token_of_another_object_or_operation_is_not_followed(store, patcher):
    store.save("list-keys", TOKEN)
    (marked,) = patcher.annotations.values()
    other = Patcher("another")
    other.annotations = dict(patcher.annotations)
    assert AnnotationLroStore(other, lambda: KEY).load("list-keys") is None
    patcher.annotations = {"asoreconcile/purge-token": marked}
    assert store.load("purge") is None


def test_asos_annotation_stays_as_aso_writes_it(store, patcher):
    store.save(ASOS, TOKEN)
    assert patcher.annotations.pop(ASOS) == TOKEN
    (mark,) = patcher.annotations
    assert mark == "asoreconcile/bi-poller-resume-token-mark"
    assert not store.has_mark(ASOS)
    patcher.annotations[ASOS] = TOKEN
    assert store.load(ASOS) == TOKEN
    assert store.has_mark(ASOS)
    patcher.annotations[ASOS] = TOKEN.replace("/x", "/y")
    assert not store.has_mark(ASOS)
    store.clear(ASOS)
    assert patcher.annotations == {}


def test_the_object_s_own_token_is_marked_as_it_is_written(store, patcher):
    token = Token(TokenShape.LOCATION, "GenericResource", "https://arm/x", "")
    store.record(token, PUT_POLLER, {"a": "b"})
    assert store.has_mark(POLLER_TOKEN)
    assert patcher.annotations["a"] == "b"
    store.record(token, PUT_POLLER, {POLLER_MARK: None})
    assert POLLER_MARK not in patcher.annotations
