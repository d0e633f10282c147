"""Who asks Microsoft Graph: the credential in use, or the application it names."""

import pytest

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.credentials import (
    ClientSecret,
    CloudConfig,
    CredentialError,
)
from asoreconcile.azure.arm.credentials_secret import entra_app_in
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.controllers.arm_client_factory import ArmClientFactory
from asoreconcile.azure.graph.cloud import SETTING
from asoreconcile.azure.graph.collections import GROUPS
from asoreconcile.base.clock import SystemClock
from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.arm.applications import EntraApplication

APP = "11111111-2222-3333-4444-555555555555"
NOBODY = "00000000-0000-0000-0000-000000000001"


@pytest.fixture
def azure(tmp_path, monkeypatch):
    with ArmServer() as server:
        server.write_ca(tmp_path / "ca.pem")
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "ca.pem"))
        yield server


@pytest.fixture
def connect(azure):
    factories = []

    def connect(endpoint=azure.graph.url, **options):
        factory = ArmClientFactory(clock=SystemClock(), graph_endpoint=endpoint)
        factories.append(factory)
        source = ClientSecret(
            azure.tenant_id,
            azure.client_id,
            azure.client_secret,
            azure.subscription_id,
            CloudConfig(azure.authority, azure.url),
        )
        return factory(source, "ns/secret", **options)

    yield connect
    for factory in factories:
        factory.close()


def test_the_credential_in_use_asks_graph(azure, connect):
    azure.graph.deny(APP)
    assert connect().graph().one(GROUPS, NOBODY) is None


def test_another_application_asks_graph_where_one_is_named(azure, connect):
    azure.entra.register(EntraApplication(APP, azure.client_secret))
    azure.graph.deny(azure.client_id)
    connection = connect(entra_app_id=APP)
    assert connection.graph().one(GROUPS, NOBODY) is None
    azure.graph.deny(APP)
    with pytest.raises(ArmError, match="Insufficient privileges"):
        connection.graph().one(GROUPS, NOBODY)


def test_an_application_that_is_not_registered_is_a_credential_error(connect):
    with pytest.raises(CredentialError, match="AADSTS700016"):
        connect(entra_app_id=APP).graph().one(GROUPS, NOBODY)


def test_one_client_for_all_who_use_a_connection(connect):
    connection = connect()
    assert connection.graph() is connection.graph()


def test_a_cloud_without_a_known_graph_is_told_when_it_is_needed(connect):
    connection = connect(endpoint="")
    with pytest.raises(ConditionError, match=SETTING):
        connection.graph()


def test_a_secret_may_name_the_application():
    assert entra_app_in({"ENTRA_APP_ID": f"{APP}\n".encode()}) == APP
    assert entra_app_in({}) == ""
    with pytest.raises(CredentialError, match=r"ENTRA_APP_ID: .*GUID"):
        entra_app_in({"ENTRA_APP_ID": b"../../common"})
