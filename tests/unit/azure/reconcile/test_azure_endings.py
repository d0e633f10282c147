"""What follows a PUT that ended well, as tables."""

import pytest

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.arm.error_body import ErrorBody
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.middleware.context import SuboperationPending
from asoreconcile.azure.reconcile.model.decisions import ReadAfter
from asoreconcile.azure.reconcile.policies.core import absent
from asoreconcile.azure.reconcile.writes.endings import is_about_the_resource
from asoreconcile.base.errors import RetryError, StoppedError


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (ReadAfter.NOTHING, "AzureResourceNotFound"),
        (ReadAfter.PUT, "Failed"),
        (ReadAfter.OPERATION, "Failed"),
    ],
)
def test_what_is_not_there_is_said(after, reason):
    assert absent("/subscriptions/s", after).reason == reason


def refusal(status):
    return ArmError(ErrorBody("Code", "No."), status=status)


@pytest.mark.parametrize(
    ("error", "is_over"),
    [
        (refusal(400), True),
        (refusal(403), True),
        (refusal(401), False),
        (refusal(429), False),
        (refusal(503), False),
        (ArmTransportError("cut", sent="maybe", method="GET", url=""), False),
        (CredentialError("none"), False),
        (ConditionError("bad", reason="Failed"), True),
        (SuboperationPending("sync", after_seconds=1.0), True),
        (RetryError("busy", after_seconds=1.0), False),
        (StoppedError("stopping"), False),
    ],
    ids=lambda one: getattr(one, "status", None) or type(one).__name__,
)
def test_d3_only_what_speaks_of_the_resource_ends_its_operation(error, is_over):
    assert is_about_the_resource(error) == is_over
