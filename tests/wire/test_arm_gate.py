"""Who leads no more sends nothing to Azure, however late it finds out."""

import pytest
from world import World

from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.credentials import CloudConfig
from asoreconcile.azure.arm.credentials_secret import ClientSecret
from asoreconcile.azure.arm.transport import ArmTransport
from asoreconcile.base.clock import SystemClock
from asoreconcile.runtime.leaderelection.fence import NotLeadingError

API_VERSION = "2020-06-01"


class Gate:
    """Open until the test shuts it; counts who asked."""

    def __init__(self):
        self.open = True
        self.asked = 0

    def __call__(self):
        self.asked += 1
        if not self.open:
            raise NotLeadingError("leads no more")


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path) as made:
        yield made


@pytest.fixture
def gate():
    return Gate()


@pytest.fixture
def client(world, gate):
    azure = world.azure
    identity = ClientSecret(
        tenant_id=azure.tenant_id,
        client_id=azure.client_id,
        client_secret=azure.client_secret,
        subscription_id=azure.subscription_id,
        cloud=CloudConfig(authority_host=azure.authority, endpoint=azure.url),
    )
    made = ArmClient(
        azure.url,
        identity.credential(),
        scope=identity.cloud.scope,
        clock=SystemClock(),
        transport=ArmTransport(url=azure.url, before_write=gate),
    )
    yield made
    made.close()


def test_le5_every_write_to_azure_is_asked_about_as_it_goes_out(world, client, gate):
    group = f"/subscriptions/{world.azure.subscription_id}/resourceGroups/rg"
    client.put(group, API_VERSION, {"location": "westeurope"})
    asked = gate.asked
    assert asked >= 1
    client.get(group, API_VERSION)
    assert client.head(group, API_VERSION)
    assert gate.asked == asked  # reading is everybody's right, and so is signing in
    gate.open = False
    before = len(world.azure.journal)
    for write in (
        lambda: client.put(group, API_VERSION, {"location": "northeurope"}),
        lambda: client.delete(group, API_VERSION),
        lambda: client.post(f"{group}/exportTemplate", API_VERSION, {}),
    ):
        with pytest.raises(NotLeadingError):
            write()
    assert client.get(group, API_VERSION)["location"] == "westeurope"
    assert [entry.method for entry in world.azure.journal[before:]] == ["GET"]
