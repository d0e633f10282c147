"""A recording of the simulator can be replayed, and holds no secret."""

import lzma

from world import World, resource_group, virtual_network

from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.replay import ReplayServer, read_recordings

GROUP = "resources.azure.com/ResourceGroup"
NETWORK = "network.azure.com/VirtualNetwork"
SERVER = "Microsoft.Sql/servers/sqldb"
BODY = {"location": "westus2", "properties": {"administratorLoginPassword": "hunter2"}}


def test_a_recording_has_every_exchange_and_no_secret(tmp_path):
    path = tmp_path / "story.tar.xz"
    with ArmServer(clock=FakeClock(), record=path) as azure, azure.session() as session:
        group = f"/subscriptions/{azure.subscription_id}/resourceGroups/rg"
        accounts = f"{group}/providers/Microsoft.Storage/storageAccounts"
        azure.seed(group, {"location": "westus2"})
        azure.seed(f"{accounts}/a", {"location": "westus2"})
        for method, url in (
            ("PUT", f"{group}/providers/{SERVER}"),
            ("GET", f"{group}/providers/{SERVER}"),
            ("POST", f"{accounts}/a/listKeys"),
        ):
            body = BODY if method == "PUT" else None
            session.request(method, url, json=body)
        key = session.request("POST", f"{accounts}/a/listKeys").json()["keys"][0][
            "value"
        ]
    story = read_recordings(path, ["story"])["story"]
    assert [one.target.method for one in story] == ["PUT", "GET", "POST", "POST"]
    assert all(one.status < 300 for one in story)
    text = lzma.decompress(path.read_bytes())
    assert (b"hunter2" in text, key.encode() in text) == (False, False)


def lived(world):
    """Make two resources, change one, and delete both."""
    world.install(GROUP, NETWORK)
    group, network = resource_group(), virtual_network()
    for obj in (group, network, virtual_network(tags={"a": "b"})):
        world.settled(obj)
    for obj in (network, group):
        world.delete(obj)
        assert world.settle(obj) is None


def test_the_recording_of_a_run_plays_the_same_run_again(tmp_path):
    path = tmp_path / "story.tar.xz"
    with World(tmp_path, lro=5.0, retry_after=1, record=path) as world:
        lived(world)
    played = ReplayServer(read_recordings(path, ["story"])["story"])
    with World(tmp_path, azure=played) as world:
        lived(world)
    told = played.summary()
    wrong = (told.mismatches, told.unmatched, told.unanswered, told.not_sent, told.left)
    assert wrong == ((),) * 5
