"""A recording of the simulator can be replayed, and holds no secret."""

import lzma

from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.replay import read_recordings

SERVER = "Microsoft.Sql/servers/db"
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
            session.request(method, url, json=body, api_version="2023-01-01")
        key = session.request(
            "POST", f"{accounts}/a/listKeys", api_version="2023-01-01"
        ).json()["keys"][0]["value"]
    story = read_recordings(path, ["story"])["story"]
    assert [one.target.method for one in story] == ["PUT", "GET", "POST", "POST"]
    assert all(one.status < 300 for one in story)
    text = lzma.decompress(path.read_bytes())
    assert (b"hunter2" in text, key.encode() in text) == (False, False)
