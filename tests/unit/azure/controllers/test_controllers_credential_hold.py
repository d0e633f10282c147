"""The finalizer of credential Secrets that objects use."""

import attrs
import pytest

from asoreconcile.azure.controllers.credential_hold import FINALIZER, CredentialHold
from asoreconcile.base.objects import ObjectKey
from asoreconcile.cache.entry import Entry
from asoreconcile.kube.errors import NotFoundError

KEY = ObjectKey("ns", "aso-credential")


@attrs.define
class Cluster:
    """One Secret, as the cache has it and as it is."""

    secret: dict | None
    patches: list = attrs.field(factory=list)
    is_gone: bool = False

    def entry(self, _key):
        return None if self.secret is None else Entry(self.secret)

    def record_write(self, obj):
        self.secret = obj

    def patch(self, _resource, _key, body):
        if self.is_gone:
            raise NotFoundError("gone", status=404)
        self.patches.append(body)
        return {"metadata": {**self.secret["metadata"], **body["metadata"]}}


def secret(*finalizers, **meta):
    named = {"namespace": "ns", "name": "aso-credential", "uid": "u"}
    held = {"resourceVersion": "7", "finalizers": list(finalizers)}
    return {"metadata": {**named, **held, **meta}}


def leaving(*finalizers):
    return secret(*finalizers, deletionTimestamp="2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("before", "is_used", "is_wanted", "after"),
    [
        (secret("other"), True, True, ["other", FINALIZER]),
        (secret(FINALIZER), True, True, None),
        (secret("other", FINALIZER), False, True, ["other"]),
        (secret("other"), False, True, None),
        (leaving(FINALIZER), True, True, None),
        (leaving(FINALIZER, "other"), False, True, ["other"]),
        # Kubernetes accepts no new finalizer then.
        (leaving("other"), True, True, None),
        (secret(FINALIZER), True, False, []),
        (secret(), True, False, None),
        (None, True, True, None),
    ],
)
def test_a_secret_in_use_is_held_and_let_go_after(before, is_used, is_wanted, after):
    cluster = Cluster(before)
    hold = CredentialHold(cluster, cluster, is_wanted)
    for _ in range(2):
        hold.update(KEY, is_used=is_used)
    written = [patch["metadata"]["finalizers"] for patch in cluster.patches]
    assert written == ([] if after is None else [after])
    for patch in cluster.patches:  # only as it was read
        assert patch["metadata"]["resourceVersion"] == "7"


def test_a_secret_that_is_gone_needs_no_hold():
    cluster = Cluster(secret(), is_gone=True)
    CredentialHold(cluster, cluster, is_wanted=True).update(KEY, is_used=True)
