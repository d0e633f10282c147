"""What goes into a review's answer, beside what the wire tests show."""

import ssl

import pytest

from asoreconcile.objects import GroupVersionKind, ObjectKey
from asoreconcile.webhooks.admission import AdmissionRequest, Allowed, Denied, mutating
from asoreconcile.webhooks.certificates import server_context
from asoreconcile.webhooks.reviews import ReviewError, failure


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
