"""Reconcilers of classes: what they get, and what is refused before anything runs."""

import copy
from typing import Any

import attrs
import pytest

from asoreconcile.base.errors import TerminalError
from asoreconcile.base.objects import ObjectKey
from asoreconcile.resources.codec import ObjectDecodeError
from asoreconcile.resources.declaration import resource
from asoreconcile.resources.informer import TypedInformer
from asoreconcile.resources.metadata import ObjectMeta
from asoreconcile.runtime.reconciler import Request, Result, Retry, classify
from asoreconcile.runtime.typed_reconciler import reconcile_of_class


@attrs.define
class Spec:
    host: str


@resource("example.com/v1", plural="sites")
@attrs.define
class Site:
    metadata: ObjectMeta
    spec: Spec


@resource("example.com/v1", plural="shops")
@attrs.define
class Shop:
    metadata: ObjectMeta


KEY = ObjectKey("default", "a")


class Cached:
    """As much of an informer as is asked."""

    def __init__(self, *objects):
        self.objects = {one["metadata"]["name"]: one for one in objects}
        self.reports = []
        self.report = self.reports.append

    def get(self, key):
        return copy.deepcopy(self.objects.get(key.name))

    def list(self, _namespace, **_options):
        return copy.deepcopy(list(self.objects.values()))


def informer(*objects):
    return TypedInformer(Site, Cached(*objects))


def site(**spec):
    return {"metadata": {"name": "a", "namespace": "default"}, "spec": spec}


def call(function, *objects):
    return reconcile_of_class(Site, informer(*objects), function)(Request(KEY))


def test_the_object_is_given_and_no_answer_is_in_order():
    seen = []

    def reconcile(obj: Site) -> None:
        seen.append(obj.spec.host)

    assert call(reconcile, site(host="h")) == Result()
    assert seen == ["h"]


def test_an_answer_is_the_answer():
    def reconcile(obj: Site) -> Result | None:
        return Result(requeue_after_seconds=5)

    assert call(reconcile, site(host="h")) == Result(requeue_after_seconds=5)


def test_an_object_that_is_gone_is_not_reconciled():
    def reconcile(obj: Site) -> Result:
        raise AssertionError(obj)

    assert call(reconcile) == Result()


def test_an_object_that_the_class_cannot_hold_waits_for_a_change():
    sites = informer(site())
    reconcile = reconcile_of_class(Site, sites, lambda _: None)
    for _ in range(2):
        with pytest.raises(TerminalError, match=r"default/a: Site: spec.host is miss"):
            reconcile(Request(KEY))
    (report,) = sites.untyped.reports
    assert (report.key, report.known["kind"]) == (KEY, "Site")
    sites.untyped.objects["a"] = site(host="h")
    assert reconcile(Request(KEY)) == Result()
    sites.untyped.objects["a"] = site()
    with pytest.raises(TerminalError):
        reconcile(Request(KEY))
    assert len(sites.untyped.reports) == 2


def test_an_object_that_the_class_cannot_hold_reaches_code_that_takes_it_raw():
    """Its deletion waits for a finalizer that only its controller takes off."""
    seen = []

    def on_unreadable(obj, found):
        seen.append((obj["spec"], found.why))
        return Result(requeue_after_seconds=9)

    reconcile = reconcile_of_class(
        Site, informer(site(other=1)), lambda _: None, on_unreadable
    )
    assert reconcile(Request(KEY)) == Result(requeue_after_seconds=9)
    assert seen == [({"other": 1}, "default/a: Site: spec.host is missing")]


def test_an_error_about_another_object_is_not_final():
    sites = informer(site())

    def reconcile(request: Request) -> Result:
        sites.list(strict=True)
        return Result()

    made = reconcile_of_class(Site, sites, reconcile)
    with pytest.raises(ObjectDecodeError) as caught:
        made(Request(ObjectKey("default", "b")))
    assert isinstance(classify(caught.value), Retry)


def test_a_list_names_what_the_class_cannot_hold():
    other = {"metadata": {"name": "b", "namespace": "default"}, "spec": {"host": "h"}}
    found = informer(site(), other).list()
    assert [one.metadata.name for one in found] == ["b"]
    assert [(one.key, one.why) for one in found.unreadable] == [
        (KEY, "default/a: Site: spec.host is missing")
    ]


def test_who_takes_a_request_gets_it():
    def reconcile(request: Request) -> Result:
        return Result(priority=int(request.key.name == "a"))

    assert call(reconcile) == Result(priority=1)

    class Reconciling:
        def reconcile(self, request: "Request") -> Result:
            return Result(priority=2)

    made = reconcile_of_class(Site, informer(), Reconciling())
    assert made(Request(KEY)) == Result(priority=2)


class Typed:
    def reconcile(self, obj: Site) -> Result:
        return Result(priority=3)


def test_an_object_with_a_method_will_do():
    assert call(Typed(), site(host="h")) == Result(priority=3)


class Calling:
    def __call__(self, obj: Site) -> None:
        return None


def _no_annotations(obj):
    return None


def _of_anything(obj: Any) -> Any:
    return None


@pytest.mark.parametrize("function", [Calling(), _no_annotations, _of_anything])
def test_what_says_nothing_of_itself_is_taken(function):
    assert call(function, site(host="h")) == Result()


def _of_a_shop(obj: Shop) -> Result: ...


def _of_two(obj: Site, more: int) -> Result: ...


def _of_none() -> Result: ...


def _answers_a_bool(obj: Site) -> bool: ...


async def _async(obj: Site) -> Result: ...


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (_of_a_shop, "_of_a_shop takes Shop, but reconciles Site"),
        (_of_two, r"is no reconciler: it is called with \(Site\)"),
        (_of_none, r"is no reconciler: it is called with \(Site\)"),
        (_answers_a_bool, "answers .*bool.*: a reconciler answers Result or None"),
        (_async, "is a coroutine function"),
        (Typed, "Typed is a class: give an object of it"),
        (3, "is no reconciler: it cannot be called"),
    ],
)
def test_a_wrong_signature_is_refused_when_it_is_registered(function, said):
    with pytest.raises(TypeError, match=said):
        reconcile_of_class(Site, informer(), function)
