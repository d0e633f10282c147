"""HcpOpenShiftCluster's credential: one request, however many passes it takes."""

import pytest
from extensions_chains import cr, default, group_kind, version

from asoreconcile.azure.arm.outcomes import Pending as Running
from asoreconcile.azure.arm.tokens import RESOURCE, Token, TokenShape
from asoreconcile.azure.middleware.context import MemoryOperations, SuboperationPending
from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.requests import ExportSecrets
from asoreconcile.azure.testing.extensions import FakeArm, fake_ctx

KIND = "redhatopenshift/HcpOpenShiftCluster"
URL = "https://arm.test/operations/1"
TOKEN = Token(TokenShape.LOCATION, RESOURCE, URL, "InProgress")


def export(arm, operations):
    wanted = {"adminCredentials": {"name": "hcp", "key": "kubeconfig"}}
    obj = cr(KIND, spec={"operatorSpec": {"secrets": wanted}})
    ctx = fake_ctx(version(KIND), arm=arm, operations=operations)
    return default().chain(EXPORT_SECRETS, group_kind(KIND))(ExportSecrets(ctx, obj))


def test_a_credential_in_the_making_is_waited_for_over_restarts():
    operations = MemoryOperations()
    begin = FakeArm().on(
        "POST", "/requestAdminCredential", "2026-06-30-preview", Running(TOKEN, 15.0)
    )
    with pytest.raises(SuboperationPending) as raised:
        export(begin, operations)
    assert raised.value.after_seconds == 15.0
    done = FakeArm().on("POLL", URL, "", {"kubeconfig": "k"})
    (secret,) = export(done, operations).secrets
    assert (secret.name, secret.key, secret.value) == ("hcp", "kubeconfig", "k")
    assert [method for method, *_ in done.sent] == ["POLL"]
