"""What references of a spec mean, given what they name: tables without a cluster."""

import base64

import pytest

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.azure.reconcile.model.differences import HIDDEN
from asoreconcile.azure.reconcile.scope.references import (
    arm_id_in,
    decoded_text,
    entry_of,
    hidden,
    not_found,
    target_of,
)
from asoreconcile.base.objects import GroupKind
from asoreconcile.kube.resources import CONFIG_MAPS, SECRETS

WHOLE = {"group": "network.azure.com", "kind": "VirtualNetwork", "name": "vnet"}
NETWORK = GroupKind("network.azure.com", "VirtualNetwork")


def test_a_whole_reference_names_its_target():
    assert target_of(WHOLE) == (NETWORK, "vnet")


@pytest.mark.parametrize("lacking", WHOLE)
def test_an_incomplete_one_waits_for_a_person(lacking):
    with pytest.raises(ConditionError, match=f"{lacking}=None") as caught:
        target_of({name: value for name, value in WHOLE.items() if name != lacking})
    assert (caught.value.reason, caught.value.severity) == ("Failed", "Error")


@pytest.mark.parametrize(
    ("target", "is_installed", "said"),
    [
        (None, True, "does not exist in this namespace"),
        (None, False, "install its CRD"),
        ({"metadata": {}}, True, "no Azure resource id yet"),
    ],
)
def test_what_has_no_id_is_looked_for_again_soon(target, is_installed, said):
    with pytest.raises(ConditionError, match=said) as caught:
        arm_id_in(target, NETWORK, "vnet", is_installed=is_installed)
    assert (caught.value.reason, caught.value.retry) == (
        "ReferenceNotFound",
        RetryClass.FAST,
    )


def test_an_id_counts_whether_or_not_the_target_is_ready():
    target = {"metadata": {"annotations": {RESOURCE_ID: "/id"}}}
    assert arm_id_in(target, NETWORK, "vnet", is_installed=True) == "/id"


@pytest.mark.parametrize(
    ("resource", "reason"),
    [(SECRETS, "SecretNotFound"), (CONFIG_MAPS, "ConfigMapNotFound")],
)
def test_a_missing_object_or_key_says_which(resource, reason):
    assert entry_of(resource, "in", {"a": "x"}, "a") == "x"
    with pytest.raises(ConditionError, match="no key 'b'") as caught:
        entry_of(resource, "in", {"a": "x"}, "b")
    assert caught.value.reason == not_found(resource, "in").reason == reason


@pytest.mark.parametrize("raw", [b"\xff\xfe", None])
def test_what_is_no_text_is_refused_without_being_quoted(raw):
    value = "no base64!" if raw is None else base64.b64encode(raw).decode()
    with pytest.raises(ConditionError, match="is not UTF-8 text") as caught:
        decoded_text("in", "a", value)
    assert value not in str(caught.value)
    assert caught.value.__cause__ is None


def test_secrets_are_hidden_wherever_they_stand_and_the_body_is_kept():
    body = {"a": ["s3cret", {"b": "s3cret", "c": "seen"}], "s3cret": 1}
    assert hidden(body, {"s3cret"}) == {
        "a": [HIDDEN, {"b": HIDDEN, "c": "seen"}],
        "s3cret": 1,
    }
    assert body["a"][0] == "s3cret"
