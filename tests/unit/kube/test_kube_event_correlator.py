"""Which events are one, and which are too many (core/v1 recorder's numbers)."""

from datetime import UTC, datetime

from asoreconcile.kube import event_correlator
from asoreconcile.kube.event_correlator import EventCorrelator, EventRecord

AT = datetime(2026, 1, 1, tzinfo=UTC)


def record(message="m", *, name="a", uid="u", kind="Warning", reason="Failed"):
    obj = {"kind": "Thing", "metadata": {"name": name, "namespace": "n", "uid": uid}}
    return EventRecord(obj, kind, reason, message, AT)


def observed(correlator, records, *, every_seconds=0.0):
    return [
        correlator.observe(one, index * every_seconds)
        for index, one in enumerate(records)
    ]


def test_dedupe_same_event_again_is_one_event_counted():
    first, second = observed(EventCorrelator(), [record(), record()])
    assert first is second
    assert second.count == 2


def test_dedupe_object_type_reason_and_message_tell_events_apart():
    others = [
        record(),
        record(name="b"),
        record(uid="v"),
        record(kind="Normal"),
        record(reason="Other"),
        record(message="other"),
    ]
    assert len({id(one) for one in observed(EventCorrelator(), others)}) == len(others)


def test_aggregation_ten_messages_of_one_reason_become_one_event():
    found = observed(EventCorrelator(), [record(f"request {n}") for n in range(14)])
    assert len({id(one) for one in found}) == 10
    assert found[8].message == "request 8"
    assert found[9] is found[13]
    assert found[13].message == "(combined from similar events): request 13"
    assert found[13].count == 5


def test_aggregation_does_not_mix_reasons():
    messages = [record(f"m{n}", reason=f"R{n % 2}") for n in range(18)]
    found = observed(EventCorrelator(), messages)
    assert not any("combined" in one.message for one in found)


def test_aggregation_begins_anew_after_ten_quiet_minutes():
    correlator = EventCorrelator()
    observed(correlator, [record(f"m{n}") for n in range(12)])
    late = correlator.observe(record("m99"), 601.0)
    assert late.message == "m99"


def test_aggregation_remembers_for_ten_minutes():
    found = observed(
        EventCorrelator(), [record(f"m{n}") for n in range(10)], every_seconds=599
    )
    assert "combined" in found[9].message


def test_spam_filter_lets_25_pass_then_one_in_five_minutes():
    correlator = EventCorrelator()
    found = observed(correlator, [record() for _ in range(30)])
    assert [one is not None for one in found] == [True] * 25 + [False] * 5
    assert correlator.observe(record(), 299.0) is None
    assert correlator.observe(record(), 300.0) is not None
    assert correlator.observe(record(), 301.0) is None


def test_spam_filter_counts_what_it_holds_back():
    correlator = EventCorrelator()
    observed(correlator, [record() for _ in range(30)])
    assert correlator.observe(record(), 300.0).count == 31


def test_spam_filter_of_one_reason_does_not_silence_another():
    correlator = EventCorrelator()
    observed(correlator, [record() for _ in range(40)])
    assert correlator.observe(record(reason="Other"), 0.0) is not None
    assert correlator.observe(record(name="b"), 0.0) is not None


def test_memory_holds_the_last_4096_and_no_more():
    correlator = EventCorrelator()
    observed(correlator, [record(name=f"o{n}") for n in range(5000)])
    for memory in (correlator._series, correlator._flows):
        assert len(memory) == 4096
    assert correlator.observe(record(name="o4999"), 0.0).count == 2
    assert correlator.observe(record(name="o0"), 0.0).count == 1


def test_memory_keeps_what_came_last(monkeypatch):
    monkeypatch.setattr(event_correlator, "_REMEMBERED", 2)
    correlator = EventCorrelator()
    names = ["a", "b", "a", "c", "a"]
    seen = observed(correlator, [record(uid=name) for name in names])
    assert [one.count for one in seen if one is seen[0]] == [3, 3, 3]
    (again,) = observed(correlator, [record(uid="b")])
    assert again is not seen[1]
