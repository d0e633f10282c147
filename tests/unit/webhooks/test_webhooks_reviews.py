"""What goes into a review's answer, beside what the wire tests show."""

import asyncio
import json
import logging
import ssl

import attrs
import pytest

from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import GroupVersionKind, ObjectKey
from asoreconcile.kube.errors import InvalidError
from asoreconcile.webhooks import admission, conversion
from asoreconcile.webhooks.admission import (
    AdmissionRequest,
    Allowed,
    Denied,
    mutating,
    validating,
)
from asoreconcile.webhooks.reviews import Review, ReviewError, failure
from asoreconcile.webhooks.serving_certificates import server_context


def request(operation):
    return AdmissionRequest(
        operation=operation,
        gvk=GroupVersionKind("demo.example.com", "v1", "Widget"),
        key=ObjectKey("n", "a"),
        obj={"spec": {}},
        old=None,
        subresource="",
        dry_run=False,
        user={},
        options={},
    )


def fill_in(request):
    request.obj["spec"]["size"] = 1
    return request.obj


def test_wh5_nothing_is_filled_in_on_a_deletion_that_shows_its_object():
    decide = mutating([fill_in])
    assert decide(request("DELETE")) == (Allowed(), [])
    _, patch = decide(request("UPDATE"))
    assert patch == [{"op": "add", "path": "/spec/size", "value": 1}]


def test_wh5_nothing_is_filled_in_where_no_object_is_written():
    """Such as on a CONNECT, to a subresource that takes none."""
    decide = mutating([lambda _: pytest.fail("was asked")])
    asked = attrs.evolve(request("CONNECT"), obj=None)
    assert decide(asked) == (Allowed(), [])


def test_wh5_each_filling_gets_what_the_one_before_it_made():
    decide = mutating(
        [lambda one: {**one.obj, "a": 1}, lambda one: {**one.obj, "b": one.obj["a"]}]
    )
    _, patch = decide(request("CREATE"))
    assert patch == [
        {"op": "add", "path": "/a", "value": 1},
        {"op": "add", "path": "/b", "value": 1},
    ]


def test_wh5_a_filling_that_answers_nothing_has_changed_the_object_it_got():
    """A patch to null would write an object away."""
    decide = mutating([lambda one: one.obj["spec"].update(size=1), fill_in])
    _, patch = decide(request("CREATE"))
    assert patch == [{"op": "add", "path": "/spec/size", "value": 1}]


@pytest.mark.parametrize("answer", ["text", [], Allowed(), True])
def test_wh5_a_filling_that_answers_no_object_changes_nothing(answer):
    decide = mutating([lambda _: answer])
    with pytest.raises(TypeError, match="answered " + type(answer).__name__):
        decide(request("CREATE"))


def test_wh5_a_chain_of_fillings_ends_with_a_denial_and_no_patch():
    def refuse(request):
        assert request.obj["spec"]["size"] == 1
        return Denied("no")

    decide = mutating([fill_in, refuse, lambda _: pytest.fail("not asked any more")])
    assert decide(request("CREATE")) == (Denied("no"), [])


def test_wh4_a_long_message_is_cut():
    """Some of it may be the reader's own object, as long as they like."""
    status = failure(ReviewError("x" * 5000, code=400))
    assert len(status["message"]) == 2048


def test_wh1_clients_of_old_protocols_are_not_served():
    assert server_context().minimum_version == ssl.TLSVersion.TLSv1_2


# --- admission ------------------------------------------------------------------------

WIDGET = {"group": "demo.example.com", "version": "v1", "kind": "Widget"}


def judged(decide, **request):
    """The response to an admission review, and how often it is said to be broken."""
    broken = []
    review = Review("admission.k8s.io/v1", "AdmissionReview", "u-1", request)
    body = admission.respond(review, decide, on_broken=lambda: broken.append(1))
    response = json.loads(body)["response"]
    assert response["uid"] == "u-1"
    return response, len(broken)


def parsed(**request):
    """What a validating function is asked, for a request of these members."""
    asked = []
    decide = validating([lambda one: asked.append(one) or Allowed()])
    response, _ = judged(decide, **request)
    # Neither warnings nor a patch where there are none.
    accepted = {"metadata": {}, "code": 200}
    assert response == {"uid": "u-1", "allowed": True, "status": accepted}
    return asked[0]


def test_wh4_all_of_a_request_reaches_the_function():
    assert parsed(
        kind=WIDGET,
        operation="UPDATE",
        namespace="shop",
        name="one",
        object={"a": 1},
        oldObject={"a": 0},
        subResource="scale",
        dryRun=True,
        userInfo={"username": "ann"},
        options={"fieldManager": "kubectl"},
    ) == AdmissionRequest(
        operation="UPDATE",
        gvk=GroupVersionKind("demo.example.com", "v1", "Widget"),
        key=ObjectKey("shop", "one"),
        obj={"a": 1},
        old={"a": 0},
        subresource="scale",
        dry_run=True,
        user={"username": "ann"},
        options={"fieldManager": "kubectl"},
    )


@pytest.mark.parametrize("null", [False, True], ids=["absent", "null"])
def test_wh4_what_a_request_does_not_say_is_empty(null):
    """Of a cluster's object, of the core group, on a delete, of a name yet to come."""
    members = "namespace name object oldObject subResource dryRun userInfo options"
    request = dict.fromkeys(members.split()) if null else {}
    kind = dict.fromkeys(WIDGET) if null else {}
    assert parsed(kind=kind, operation="DELETE", **request) == AdmissionRequest(
        operation="DELETE",
        gvk=GroupVersionKind("", "", ""),
        key=ObjectKey("", ""),
        obj=None,
        old=None,
        subresource="",
        dry_run=False,
        user={},
        options={},
    )


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"operation": "CREATE", "object": {}}, "no kind or no operation"),
        ({"kind": "Widget", "operation": "CREATE"}, "no kind or no operation"),
        ({"kind": WIDGET, "object": {}}, "no kind or no operation"),
        ({"kind": WIDGET, "operation": ["CREATE"]}, "no kind or no operation"),
        ({"kind": WIDGET, "operation": "CREATE", "object": []}, "object is no object"),
        (
            {"kind": WIDGET, "operation": "UPDATE", "object": {}, "oldObject": "x"},
            "object is no object",
        ),
        ({"kind": WIDGET, "operation": "CREATE"}, "has no object"),
        ({"kind": WIDGET, "operation": "UPDATE", "oldObject": {}}, "has no object"),
    ],
)
def test_wh3_a_request_that_cannot_be_read_is_a_bad_one(request_, message):
    response, broken = judged(lambda _: pytest.fail("was asked"), **request_)
    assert response["allowed"] is False
    assert response["status"]["code"] == 400
    assert response["status"]["reason"] == "BadRequest"
    assert message in response["status"]["message"]
    assert not broken


PAUSED = "asoreconcile/paused"


@pytest.mark.parametrize("place", ["object", "oldObject"])
@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ([], "metadata is not a map"),
        ("x", "metadata is not a map"),
        ({"annotations": {PAUSED: {"a": 1}}}, f"annotations[{PAUSED}] is not a string"),
        ({"annotations": {"b": "", PAUSED: []}}, f"annotations[{PAUSED}] is not a str"),
        ({"annotations": {PAUSED: True}}, f"annotations[{PAUSED}] is not a string"),
        ({"annotations": {PAUSED: None}}, f"annotations[{PAUSED}] is not a string"),
        ({"annotations": [PAUSED]}, "annotations is not a map"),
        ({"labels": {"a": 1}}, "labels[a] is not a string"),
        ({"labels": "a"}, "labels is not a map"),
        ({"name": ["a"]}, "name is not a string"),
        ({"name": {}}, "name is not a string"),
        ({"generateName": 1}, "generateName is not a string"),
        ({"namespace": {"a": 1}}, "namespace is not a string"),
        ({"uid": 7}, "uid is not a string"),
        ({"resourceVersion": 7}, "resourceVersion is not a string"),
        ({"deletionTimestamp": {}}, "deletionTimestamp is not a string"),
        ({"generation": "1"}, "generation is not a whole number"),
        ({"generation": True}, "generation is not a whole number"),
        ({"finalizers": "a"}, "finalizers is not a list"),
        ({"finalizers": ["a", {}]}, "finalizers[1] is not a string"),
        ({"ownerReferences": {}}, "ownerReferences is not a list"),
        ({"ownerReferences": ["a"]}, "ownerReferences[0] is not a map"),
        ({"ownerReferences": [{"uid": 1}]}, "ownerReferences[0].uid is not a string"),
        ({"managedFields": [1]}, "managedFields[0] is not a map"),
    ],
)
def test_wh3_metadata_of_other_types_is_refused_by_its_field(
    metadata, field, place, caplog
):
    request_ = {"object": {}, place: {"metadata": metadata}}
    response, broken = judged(
        lambda _: pytest.fail("was asked"), kind=WIDGET, operation="UPDATE", **request_
    )
    assert (response["allowed"], response["status"]["code"]) == (False, 400)
    assert f"{place}.metadata" in response["status"]["message"]
    assert field in response["status"]["message"]
    assert not broken
    assert not caplog.records


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {"annotations": None, "name": None, "finalizers": None},
        {
            "name": "a",
            "annotations": {"a": ""},
            "labels": {},
            "generation": 1,
            "finalizers": ["a"],
            "ownerReferences": [{"uid": "u", "controller": True}],
            "managedFields": [{"fieldsV1": {}}],
            "unheard-of": 1,
        },
    ],
)
def test_wh3_metadata_of_its_types_is_judged(metadata):
    response, _ = judged(
        validating([lambda _: Allowed()]),
        kind=WIDGET,
        operation="CREATE",
        object={"metadata": metadata},
    )
    assert response["allowed"] is True


def test_wh4_refusals_are_answered_as_they_were_meant():
    members = {"kind": WIDGET, "operation": "DELETE"}
    verdict = Denied("in use", code=409, reason="Conflict", warnings=("old",))
    response, _ = judged(validating([lambda _: verdict]), **members)
    assert response["warnings"] == ["old"]
    assert response["status"] == {
        "metadata": {},
        "status": "Failure",
        "code": 409,
        "reason": "Conflict",
        "message": "in use",
    }

    def refuse(_):
        raise InvalidError("too big", status=422, reason="Invalid")

    response, broken = judged(refuse, **members)
    assert (response["allowed"], response["status"]["code"]) == (False, 422)
    assert not broken


def test_wh4_what_broke_is_in_the_log_and_not_in_the_answer(caplog):
    """Who writes an object is not who reads the log."""

    def break_down(_):
        raise KeyError("S3cret-Value")

    with caplog.at_level(logging.ERROR):
        response, broken = judged(break_down, kind=WIDGET, operation="DELETE")
    assert broken == 1
    assert response["allowed"] is False
    assert response["status"]["reason"] == "InternalError"
    assert response["status"]["message"] == "the webhook broke: KeyError"
    (record,) = caplog.records
    assert "Admission failed" in record.getMessage()


@pytest.mark.parametrize(
    "error", [SystemExit(0), asyncio.CancelledError(), GeneratorExit(), BaseException()]
)
def test_wh4_an_exception_of_any_class_is_an_answer(error):
    """A dropped connection would let the write pass with `failurePolicy: Ignore`."""

    def leave(*_):
        raise error

    response, broken = judged(leave, kind=WIDGET, operation="DELETE")
    assert (response["allowed"], response["status"]["code"]) == (False, 500)
    assert broken == 1
    batch = {"objects": [{"kind": "W", "apiVersion": "e/v1"}]}
    review = Review("v1", "", "u", {**batch, "desiredAPIVersion": "e/v2"})
    counted = []
    answer, _ = conversion.respond(
        review,
        batch["objects"],
        leave,
        check=lambda: None,
        on_broken=lambda: counted.append(1),
    )
    assert answer["result"]["code"] == 500
    assert counted


@pytest.mark.parametrize(
    "answer",
    [
        lambda: Denied(None),
        lambda: Denied("no", code="409"),
        lambda: Denied("no", reason=object()),
        lambda: Allowed([1]),
        lambda: InvalidError("no", status=422, reason="Invalid", details={"a": {1}}),
    ],
)
def test_wh4_an_answer_that_the_api_server_cannot_read_is_no_answer(answer):
    """It would count as a webhook that is away, and `Ignore` would let the write pass."""

    def judge(_):
        given = answer()
        if isinstance(given, Exception):
            raise given
        return given

    response, broken = judged(validating([judge]), kind=WIDGET, operation="DELETE")
    assert (response["allowed"], response["status"]["code"]) == (False, 500)
    assert broken == 1


def test_wh4_text_that_is_no_unicode_is_answered():
    verdict = Denied("name \udcff", warnings="odd \ud800")
    request = {"kind": WIDGET, "operation": "DELETE"}
    response, _ = judged(validating([lambda _: verdict]), **request)
    assert response["status"]["message"] == "name ?"
    assert response["warnings"] == ["odd ?"]


def test_wh4_a_patch_without_a_json_form_is_an_answer():
    patch = [{"op": "add", "path": "/a", "value": object()}]
    request = {"kind": WIDGET, "operation": "DELETE"}
    response, broken = judged(lambda _: (Allowed(), patch), **request)
    assert (response["allowed"], broken) == (False, 1)


def test_a_request_is_printed_without_what_it_carries():
    secret = {"S3cret-Value": "S3cret-Value"}
    asked = parsed(
        kind=WIDGET,
        operation="UPDATE",
        object=secret,
        oldObject=secret,
        userInfo=secret,
        options=secret,
    )
    assert "S3cret-Value" not in repr(asked)
    assert "Widget" in repr(asked)


# --- conversion -----------------------------------------------------------------------


def converted(convert, request, check=lambda: None):
    """The response to a conversion review, and how often it is said to be broken."""
    broken = []
    review = Review("apiextensions.k8s.io/v1", "ConversionReview", "u-1", request)
    response, pieces = conversion.respond(
        review,
        request["objects"],
        convert,
        check=check,
        on_broken=lambda: broken.append(1),
    )
    assert response["uid"] == "u-1"
    assert pieces is None
    return response, len(broken)


ONE = {"apiVersion": "demo/v1", "kind": "Widget", "metadata": {"name": "one"}}


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"objects": [ONE]}, "no desiredAPIVersion"),
        ({"desiredAPIVersion": "", "objects": [ONE]}, "no desiredAPIVersion"),
        ({"desiredAPIVersion": 2, "objects": [ONE]}, "no desiredAPIVersion"),
        ({"desiredAPIVersion": "demo/v1", "objects": [ONE]}, "Widget one is of versio"),
    ],
)
def test_wh3_a_conversion_that_cannot_be_read_is_a_bad_one(request_, message):
    response, broken = converted(lambda *_: pytest.fail("was asked"), request_)
    assert response["convertedObjects"] == []
    assert response["result"]["code"] == 400
    assert response["result"]["reason"] == "BadRequest"
    assert message in response["result"]["message"]
    assert not broken


def fail(_obj, _desired):
    raise AsoreconcileError("no such size")


def late():
    raise ReviewError("took too long", code=504)


@pytest.mark.parametrize(
    ("convert", "check", "code", "reason", "message"),
    [
        (fail, lambda: None, 400, "BadRequest", "Widget one has no form in demo/v2: no such size"),
        (
            lambda obj, _: obj | {"apiVersion": "demo/v3"},
            lambda: None,
            400,
            "BadRequest",
            "Widget one became demo/v3 Widget and not demo/v2 Widget",
        ),
        (lambda *_: pytest.fail("was asked"), late, 504, "Timeout", "took too long"),
    ],
    ids=["failed", "elsewhere", "late"],
)  # fmt: skip
def test_wh6_a_batch_that_failed_says_why(convert, check, code, reason, message):
    request = {"desiredAPIVersion": "demo/v2", "objects": [ONE]}
    response, broken = converted(convert, request, check)
    assert response["convertedObjects"] == []
    assert response["result"] == {
        "metadata": {},
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
    }
    assert not broken


def test_wh6_what_broke_is_in_the_log_and_not_in_the_answer(caplog):
    """Who writes an object is not who reads the log."""

    def break_down(_obj, _desired):
        raise KeyError("S3cret-Value")

    request = {"desiredAPIVersion": "demo/v2", "objects": [ONE]}
    with caplog.at_level(logging.ERROR):
        response, broken = converted(break_down, request)
    assert broken == 1
    assert response["convertedObjects"] == []
    assert response["result"]["code"] == 500
    assert response["result"]["reason"] == "InternalError"
    assert response["result"]["message"] == "the conversion broke: KeyError"
    (record,) = caplog.records
    assert "Conversion failed" in record.getMessage()
