"""The simulator, driven by clients that Microsoft wrote.

azure-core's pollers and pages and azure-identity's sign-in are there with the project;
the generated libraries are used where they are installed.
"""

import orjson
import pytest
from azure.core import PipelineClient
from azure.core.exceptions import HttpResponseError
from azure.core.paging import ItemPaged
from azure.core.pipeline.policies import (
    BearerTokenCredentialPolicy,
    RequestIdPolicy,
    RetryPolicy,
)
from azure.core.pipeline.transport import HttpRequest
from azure.core.polling import LROPoller
from azure.core.polling.base_polling import (
    LocationPolling,
    LROBasePolling,
    OperationResourcePolling,
    StatusCheckPolling,
)
from azure.identity import ClientSecretCredential

from asoreconcile.testing.arm import ArmServer

API = {"api-version": "2024-01-01"}
BODY = {"location": "westeurope", "properties": {}}
TYPES = [
    "Microsoft.Network/virtualNetworks",  # W1
    "Microsoft.Sql/servers",  # W2
    "Microsoft.Storage/storageAccounts",  # W3
    "Microsoft.DocumentDB/databaseAccounts",
    "Microsoft.ContainerService/managedClusters",
]


@pytest.fixture
def azure(monkeypatch, tmp_path):
    # Made-up types and one api-version for all: the clients' ways are the subject.
    with ArmServer(page_size=2, retry_after=0, strict=False) as server:
        server.write_ca(tmp_path / "ca.pem")
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "ca.pem"))
        # Operations end at their third look, not at a time.
        for type_ in ("Microsoft.Resources/resourceGroups", *TYPES):
            server.styles.change(type_, polls=3)
        yield server


@pytest.fixture
def credential(azure):
    with ClientSecretCredential(
        azure.tenant_id,
        azure.client_id,
        azure.client_secret,
        authority=azure.authority,
        disable_instance_discovery=True,
    ) as signed_in:
        yield signed_in


class Client:
    """What a generated library makes of azure-core."""

    def __init__(self, url, credential):
        bearer = BearerTokenCredentialPolicy(
            credential, "https://management.core.windows.net//.default"
        )
        policies = [RequestIdPolicy(), RetryPolicy(retry_total=0), bearer]
        self.client = PipelineClient(url, policies=policies)

    def send(self, method, url, body=None, query=API):
        request = HttpRequest(method, self.client.format_url(url))
        request.format_parameters(query)
        if body is not None:
            request.set_json_body(body)
        answer = self.client._pipeline.run(request)
        if answer.http_response.status_code >= 400:
            raise HttpResponseError(response=answer.http_response)
        return answer

    def run(self, method, path, body=None):
        begun = self.send(method, path, body)
        ways = [
            OperationResourcePolling(operation_location_header="azure-asyncoperation"),
            LocationPolling(),
            StatusCheckPolling(),
        ]
        polling = LROBasePolling(timeout=0, lro_algorithms=ways)
        return LROPoller(self.client, begun, _content, polling).result(timeout=30)

    def pages(self, path):
        def page(link):
            answer = self.send("GET", link or path, query={} if link else API)
            return _content(answer)

        def entries(found):
            return found.get("nextLink"), iter(found["value"])

        return list(ItemPaged(page, entries))


def _content(answer, *_):
    body = answer.http_response.body()
    return orjson.loads(body) if body else None


@pytest.fixture
def client(azure, credential):
    made = Client(azure.url, credential)
    with made.client:
        yield made


@pytest.fixture
def group(azure, client):
    path = f"/subscriptions/{azure.subscription_id}/resourceGroups/rg"
    made = client.run("PUT", path, {"location": "westeurope"})
    assert made["properties"]["provisioningState"] == "Succeeded"
    return path


@pytest.mark.parametrize("type_", TYPES)
def test_create_poll_list_and_delete_by_azure_core(client, azure, group, type_):
    paths = [f"{group}/providers/{type_}/name{n}" for n in range(3)]
    for path in paths:
        made = client.run("PUT", path, BODY)
        assert made["id"].lower() == path.lower()
        state = made["properties"].get("provisioningState")
        assert state in (None, "Succeeded")  # SQL shows none
    listed = client.pages(f"{group}/providers/{type_}")
    assert [entry["name"] for entry in listed] == ["name0", "name1", "name2"]
    for path in paths:
        client.run("DELETE", path)
        with pytest.raises(HttpResponseError) as caught:
            client.send("GET", path)
        assert caught.value.status_code == 404
    client.run("DELETE", group)
    assert azure.resources() == {}


def test_a_failed_operation_is_an_error_with_its_code(client, azure, group):
    azure.faults.fail_operation("/net$", "Broken", "It did not work")
    path = f"{group}/providers/Microsoft.Network/virtualNetworks/net"
    with pytest.raises(HttpResponseError) as caught:
        client.run("PUT", path, BODY)
    assert caught.value.error.code == "Broken"


def test_the_generated_libraries_work(azure, credential):
    missing = "azure-mgmt-network is not installed; pip install it to run this"
    network = pytest.importorskip("azure.mgmt.network", reason=missing)
    azure.seed(f"/subscriptions/{azure.subscription_id}/resourceGroups/rg", BODY)
    client = network.NetworkManagementClient(
        credential,
        azure.subscription_id,
        base_url=azure.url,
        credential_scopes=["https://management.core.windows.net//.default"],
        polling_interval=0,
    )
    with client:
        networks = client.virtual_networks
        for name in "abc":
            made = networks.begin_create_or_update("rg", name, BODY).result()
            assert made.provisioning_state == "Succeeded"
        assert [found.name for found in networks.list("rg")] == ["a", "b", "c"]
        assert networks.update_tags("rg", "a", {"tags": {"x": "y"}}).tags == {"x": "y"}
        networks.begin_delete("rg", "a").result()
        assert [found.name for found in networks.list_all()] == ["b", "c"]
