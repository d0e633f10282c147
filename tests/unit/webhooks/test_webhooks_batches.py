"""A conversion review is taken apart without parsing it as a whole."""

import orjson
import pytest

from asoreconcile.testing.clock import FakeClock
from asoreconcile.webhooks.batches import Batch
from asoreconcile.webhooks.review_work import ReviewWork
from asoreconcile.webhooks.reviews import ReviewError

OBJECT = {"apiVersion": "demo.example.com/v1", "kind": "Widget", "spec": {"a": "[{"}}


def batch(text, clock=None, deadline=10):
    work = ReviewWork(clock or FakeClock(), conversions=1, admissions=1)
    return Batch(text, work, caller="1.2.3.4", deadline=deadline)


def review(*objects, **members):
    request = {"uid": "u", "objects": list(objects), "desiredAPIVersion": "demo/v2"}
    return orjson.dumps({"kind": "ConversionReview", "request": request, **members})


def test_wh6_objects_come_one_by_one_in_their_order():
    objects = [{**OBJECT, "id": at, "text": "x" * at * 100} for at in range(200)]
    found = batch(review(*objects))
    assert list(found.objects()) == objects
    assert orjson.loads(found.envelope)["request"] == {
        "uid": "u",
        "objects": [],
        "desiredAPIVersion": "demo/v2",
    }


def test_wh6_a_large_object_goes_through_the_other_lane():
    large = {**OBJECT, "lists": [[]] * 100_000}
    objects = [OBJECT, large, OBJECT, large]
    assert list(batch(review(*objects)).objects()) == objects


def test_wh6_a_review_without_objects_has_none():
    assert not batch(b'{"request":{"uid":"u"}}').has_objects
    assert batch(review()).has_objects
    assert list(batch(review()).objects()) == []


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (review(OBJECT, 1), 400, "no list of objects"),
        (review("a"), 400, "no list of objects"),
        (review([]), 400, "no list of objects"),
        (review({}), 400, "no apiVersion"),
        (review(OBJECT).partition(b'"spec"')[0], 400, "no end"),
        (review({**OBJECT, "a": "x" * (7 << 20)}), 413, "longer"),
        (review({**OBJECT, "a": [[]] * 2_200_000}), 413, "memory"),
        (review(OBJECT, other="x" * 70_000), 413, "without its objects"),
        (b'{"a":"' + b"x" * 70_000 + b'",' + review(OBJECT)[1:], 413, "without its"),
    ],
    ids=str,
)
def test_wh3_a_batch_that_cannot_be_taken_apart_is_refused(text, code, message):
    with pytest.raises(ReviewError, match=message) as raised:
        list(batch(text).objects())
    assert raised.value.code == code


def test_wh6_after_the_deadline_no_object_is_looked_for(clock):
    with pytest.raises(ReviewError, match="too long"):
        batch(review(OBJECT), clock, deadline=clock.monotonic())


def test_wh3_an_object_that_is_no_json_fails_when_it_is_its_turn():
    found = batch(review(OBJECT).replace(b'"spec":{', b'"spec":{,'))
    with pytest.raises(ReviewError, match="no JSON"):
        list(found.objects())
