"""When what Azure has is noted after Ready, and when a look is for that alone."""

import pytest

from asoreconcile.azure.reconcile.model.annotations import LATEST_RECONCILED_GENERATION
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED
from asoreconcile.azure.reconcile.state.deferred_note import (
    NOTE_PRIORITY,
    DeferredNote,
    deferrable,
)
from asoreconcile.queue.workqueue import LOW_PRIORITY

NOTE = DeferredNote('{"put":"b"}', replaces='{"put":"a"}', generation=2)


def an_object(*, ready=None, notes=None, **metadata):
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    return {
        "metadata": {"annotations": notes or {}, "generation": 2, **metadata},
        "status": {"conditions": conditions},
    }


def unwritten(**notes):
    return {"annotations": {OBSERVED: NOTE.text, **notes}}


@pytest.mark.parametrize("ready", [None, "False", "Unknown"])
def test_it_waits_where_ready_is_news(ready):
    assert deferrable(an_object(ready=ready), unwritten()) == NOTE.text


def test_nobody_waits_where_ready_was_shown_before():
    assert deferrable(an_object(ready="True"), unwritten()) is None


def test_what_the_cluster_has_already_is_no_news():
    stored = an_object(notes={LATEST_RECONCILED_GENERATION: "2"})
    same = unwritten(**{LATEST_RECONCILED_GENERATION: "2"})
    assert deferrable(stored, same) == NOTE.text
    other = unwritten(**{LATEST_RECONCILED_GENERATION: "3"})
    assert deferrable(stored, other) is None


@pytest.mark.parametrize(
    "written",
    [
        {},
        {"annotations": {"example.com/other": "1"}},
        unwritten(**{"example.com/other": "1"}),
        {**unwritten(), "labels": {"example.com/other": "1"}},
    ],
)
def test_all_else_is_written_first(written):
    assert deferrable(an_object(), written) is None


def test_a_token_that_goes_is_written_first():
    stored = an_object(notes={"example.com/token": "1"})
    assert deferrable(stored, unwritten(**{"example.com/token": None})) is None


def test_it_is_awaited_until_another_one_is_written_or_the_object_goes():
    before = {OBSERVED: NOTE.replaces}
    assert NOTE.is_awaited(an_object(notes=before))
    assert not NOTE.is_awaited(an_object(notes={OBSERVED: NOTE.text}))
    assert not NOTE.is_awaited(an_object())
    going = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert not NOTE.is_awaited(an_object(notes=before, **going))


def test_a_look_that_something_asked_for_is_not_for_the_note_alone():
    assert NOTE.is_all(an_object(), priority=NOTE_PRIORITY)
    assert not NOTE.is_all(an_object(), priority=LOW_PRIORITY)
    assert not NOTE.is_all(an_object(), priority=0)
    assert not NOTE.is_all(an_object(generation=3), priority=NOTE_PRIORITY)
