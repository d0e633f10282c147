"""The CRDs that `asoreconcile kinds crd` prints, applied to a real API over TLS."""

import ssl

import orjson
import pytest
import urllib3
import yaml
from click.testing import CliRunner

from asoreconcile.azure.cmd.kinds import kinds

kube = pytest.importorskip("asoreconcile.testing.kube")

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture
def api():
    with kube.KubeServer() as server:
        ca = server.ca_pem
        context = ssl.create_default_context(
            cadata=ca.decode() if isinstance(ca, bytes) else ca
        )
        with urllib3.PoolManager(ssl_context=context) as pool:

            def call(method, path, body=None, *, content_type="application/json"):
                answer = pool.request(
                    method,
                    f"{server.url}{path}",
                    body=None if body is None else orjson.dumps(body),
                    headers={
                        "Authorization": f"Bearer {server.token}",
                        "Content-Type": content_type,
                    },
                )
                return answer.status, orjson.loads(answer.data)

            yield call


def test_printed_crds_are_accepted_by_server_side_apply(api):
    printed = (
        CliRunner().invoke(kinds, ["crd", "network.azure.com/VirtualNetwork*"]).output
    )

    for document in yaml.safe_load_all(printed):
        name = document["metadata"]["name"]
        status, answer = api(
            "PATCH",
            f"{CRDS}/{name}?fieldManager=test&force=true",
            document,
            content_type="application/apply-patch+yaml",
        )
        assert status in (200, 201), answer

    status, listed = api("GET", CRDS)
    assert status == 200
    assert len(listed["items"]) == printed.count("---\n")


def test_an_object_of_a_printed_crd_is_stored(api):
    printed = CliRunner().invoke(kinds, ["crd", "*/ResourceGroup"]).output
    (document,) = yaml.safe_load_all(printed)
    status, answer = api("POST", CRDS, document)
    assert status == 201, answer
    version = document["spec"]["versions"][0]["name"]
    path = f"/apis/resources.azure.com/{version}/namespaces/default/resourcegroups"
    group = {
        "apiVersion": f"resources.azure.com/{version}",
        "kind": "ResourceGroup",
        "metadata": {"name": "rg"},
        "spec": {"location": "westus", "tags": {"a": "b"}},
    }

    status, answer = api("POST", path, group)

    assert status == 201, answer
    assert answer["spec"] == group["spec"]
