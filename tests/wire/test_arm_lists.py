"""Many resources by few requests, over HTTPS from the simulator, page by page."""

import pytest
from azure.core.credentials import AccessToken

from asoreconcile.azure.arm import lists
from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.lists import ListError
from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.clock import FakeClock

NETWORKS = "Microsoft.Network/virtualNetworks"
ACCOUNTS = "Microsoft.Storage/storageAccounts"
API = "2024-01-01"


@pytest.fixture(scope="module")
def azure():
    with ArmServer(clock=FakeClock(), page_size=10) as server:
        subscription = f"/subscriptions/{server.subscription_id}"
        for group in ("one", "two"):
            id_ = f"{subscription}/resourceGroups/{group}"
            server.seed(id_, {"location": "westeurope"})
            for number in range(15):
                name = f"{group}{number}"
                server.seed(f"{id_}/providers/{NETWORKS}/{name}", body(number))
            server.seed(f"{id_}/providers/{ACCOUNTS}/{group}account", body(0))
        yield server


def body(number):
    return {"location": "westeurope", "properties": {"number": number}}


@pytest.fixture
def client(azure, tmp_path, monkeypatch):
    azure.write_ca(tmp_path / "ca.pem")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "ca.pem"))

    class SignedIn:
        def get_token(self, *scopes, **options):
            return AccessToken(azure.entra.issue(azure.client_id), 1 << 40)

    made = ArmClient(azure.url, SignedIn(), scope="s", clock=FakeClock())
    azure.journal.clear()
    yield made
    made.close()


@pytest.fixture
def group(azure):
    return f"/subscriptions/{azure.subscription_id}/resourceGroups/one"


def test_q3_a_type_in_a_subscription(azure, client):
    found = list(lists.in_subscription(client, azure.subscription_id, NETWORKS, API))
    assert len(found) == 30
    assert {entry["type"] for entry in found} == {NETWORKS}
    assert max(e["properties"]["number"] for e in found) == 14
    assert len(azure.journal) == 3


def test_q3_groups_in_a_subscription(azure, client):
    type_ = "Microsoft.Resources/resourceGroups"
    found = lists.in_subscription(client, azure.subscription_id, type_, API)
    assert sorted(entry["name"] for entry in found) == ["one", "two"]


def test_a_type_in_a_group(azure, client, group):
    found = list(lists.in_group(client, group, NETWORKS, API))
    assert {entry["name"][:3] for entry in found} == {"one"}
    assert len(found) == 15
    assert len(azure.journal) == 2


def test_q3_nested_types_are_listed_below_one_parent(azure, client, group):
    parent = f"{group}/providers/{NETWORKS}/one0"
    azure.seed(f"{parent}/subnets/inner", {"properties": {}})
    (found,) = lists.below(client, parent, "subnets", API)
    assert found["name"] == "inner"
    for ask in (
        lambda: lists.in_group(client, group, f"{NETWORKS}/subnets", API),
        lambda: lists.in_subscription(client, "s", f"{NETWORKS}/subnets", API),
    ):
        with pytest.raises(ListError, match="below one parent"):
            ask()


def test_q2_headers_of_one_type(azure, client):
    scope = f"/subscriptions/{azure.subscription_id}"
    found = list(lists.headers(client, scope, ACCOUNTS))
    assert [h.type for h in found] == [ACCOUNTS] * 2
    assert {h.provisioning_state for h in found} == {"Succeeded"}
    assert all(h.changed.startswith("2026-") for h in found)
    (asked,) = azure.journal
    assert (asked.api_version, asked.path) == ("2021-04-01", f"{scope}/resources")


def test_q2_headers_of_all_in_a_group(azure, client, group):
    found = list(lists.headers(client, group))
    assert len(found) == 16
    assert len(azure.journal) == 2
    # What has no location of its own is in no such list.
    assert not any("subnets" in header.type for header in found)


@pytest.mark.parametrize("text", ["", "x", "a/b'c", "a/b c", "Microsoft.Network/"])
def test_what_is_no_type_is_not_asked_for(client, text):
    with pytest.raises(ListError):
        lists.in_subscription(client, "s", text, API)


def test_pages_are_read_as_they_are_consumed(azure, client, group):
    found = lists.in_group(client, group, NETWORKS, API)
    assert azure.journal == []
    for _ in range(10):
        next(found)
    assert len(azure.journal) == 1
    next(found)
    assert len(azure.journal) == 2
