"""H5: a resource that refers to one in another tenant, from settings to the header."""

import uuid

import attrs
import pytest
from world import World, resource_group, virtual_network

from asoreconcile.azure.arm.credentials_secret import SecretRules, credential_in
from asoreconcile.azure.controllers.arm_client_factory import ArmClientFactory
from asoreconcile.azure.controllers.settings import from_environment

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"
PEERINGS = "network.azure.com/VirtualNetworksVirtualNetworkPeering"
FURTHER = str(uuid.uuid4())
ELSEWHERE = str(uuid.uuid4())
TENANTS = "AZURE_ADDITIONAL_TENANTS"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path) as running:
        running.install(GROUPS, NETWORKS, PEERINGS)
        running.azure.add_tenant(FURTHER, ELSEWHERE)
        for obj in (resource_group(), virtual_network()):
            running.apply(obj)
            running.settle(obj)
        yield running


@pytest.fixture
def peering(world):
    network = f"/subscriptions/{ELSEWHERE}/resourceGroups/far/providers"
    network += "/Microsoft.Network/virtualNetworks/theirs"
    obj = {
        "apiVersion": "network.azure.com/v20250301",
        "kind": "VirtualNetworksVirtualNetworkPeering",
        "metadata": {"name": "peering"},
        "spec": {
            "owner": {"name": "vnet"},
            "allowVirtualNetworkAccess": True,
            "remoteVirtualNetwork": {"reference": {"armId": network}},
        },
    }
    world.apply(obj)
    return obj


@pytest.fixture
def connector(world):
    connector = ArmClientFactory(clock=world.clock)
    yield connector
    connector.close()


def from_settings(azure, **changes):
    settings = {**azure.settings(), "POD_NAMESPACE": "ops", **changes}
    return from_environment(settings).credential


def from_secret(azure, **changes):
    data = {**azure.settings(), **changes}
    decoded = {name: value.encode() for name, value in data.items()}
    hosts = frozenset({"127.0.0.1", "localhost"})
    rules = SecretRules(allow_clouds=True, cloud_hosts=hosts)
    return credential_in(decoded, rules, origin="Secret ns/s")


def operated(world, connector, source):
    """The operator, with the connection that one credential makes."""

    class Only:
        def for_object(self, obj):
            return connection

    connection = connector(source, "ns/s")
    world.operator = attrs.evolve(world.operator, connections=Only())


@pytest.mark.parametrize("read", [from_settings, from_secret])
def test_h5_the_further_tenants_token_lets_azure_look_there(
    world, connector, peering, read
):
    operated(world, connector, read(world.azure))
    world.run(peering)
    ready = world.ready(peering)
    assert ready["reason"] == "LinkedAuthorizationFailed"
    operated(world, connector, read(world.azure, **{TENANTS: f"{FURTHER}, *"}))
    assert world.settle(peering)


def test_h5_a_tenant_where_nobody_signs_in_is_named(world, connector, peering):
    gone = str(uuid.uuid4())
    operated(world, connector, from_secret(world.azure, **{TENANTS: gone}))
    world.run(peering)
    ready = world.ready(peering)
    assert (ready["reason"], ready["severity"]) == ("CredentialError", "Warning")
    assert f"of the additional tenant {gone}" in ready["message"]
    assert "ns/s" in ready["message"]


def test_h5_expired_or_too_many_auxiliary_tokens_are_401(world):
    azure = world.azure
    good = azure.entra.issue(azure.client_id, tenant_id=FURTHER)
    path = f"/subscriptions/{azure.subscription_id}/resourceGroups/rg"
    with azure.session() as session:

        def asked(*tokens):
            header = ", ".join(f"Bearer {token}" for token in tokens)
            headers = {"x-ms-authorization-auxiliary": header}
            return session.get(path, headers=headers).status_code

        assert (asked(good), asked(good, "stale"), asked(*[good] * 4)) == (
            200,
            401,
            401,
        )
        session.headers["Authorization"] = f"Bearer {good}"
        assert session.get(path).status_code == 401
