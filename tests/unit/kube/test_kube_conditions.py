"""Conditions put on an object: what changes, and since when it is so."""

from datetime import UTC, datetime, timedelta

from asoreconcile.kube.conditions import condition_of, set_condition

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


def test_a_condition_is_of_now_where_no_time_is_given():
    obj, before = {}, datetime.now(UTC).replace(microsecond=0)
    set_condition(obj, "Ready", "True", "Fine")
    since = datetime.fromisoformat(condition_of(obj, "Ready")["lastTransitionTime"])
    assert before <= since <= datetime.now(UTC)


def widget(*conditions):
    return {"metadata": {"generation": 3}, "status": {"conditions": [*conditions]}}


def test_a_first_condition_is_put_beside_what_is_there():
    obj = {"metadata": {"generation": 3}}
    assert set_condition(obj, "Ready", "False", "Starting", "soon", now=NOW)
    assert condition_of(obj, "Ready") == {
        "type": "Ready",
        "status": "False",
        "observedGeneration": 3,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "reason": "Starting",
        "message": "soon",
    }
    assert set_condition(obj, "Degraded", "False", "Fine", now=NOW)
    assert [one["type"] for one in obj["status"]["conditions"]] == ["Ready", "Degraded"]  # type: ignore[attr-defined]
    assert condition_of(obj, "Other") is None
    assert condition_of({}, "Ready") is None


def test_its_time_is_that_of_the_last_change_of_status():
    obj = widget()
    set_condition(obj, "Ready", "False", "Starting", now=NOW)
    assert not set_condition(obj, "Ready", "False", "Starting", now=LATER)
    assert set_condition(obj, "Ready", "False", "Waiting", now=LATER)
    assert condition_of(obj, "Ready")["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    assert set_condition(obj, "Ready", "True", "Waiting", now=LATER)
    assert condition_of(obj, "Ready")["lastTransitionTime"] == "2026-01-01T01:00:00Z"
    assert len(obj["status"]["conditions"]) == 1


def test_it_says_of_which_generation_it_is():
    obj = widget()
    set_condition(obj, "Ready", "True", "Fine", now=NOW)
    obj["metadata"]["generation"] = 4
    assert set_condition(obj, "Ready", "True", "Fine", now=LATER)
    assert condition_of(obj, "Ready")["observedGeneration"] == 4
