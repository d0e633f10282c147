"""The example with a kind of its own, as an embedder tests a controller."""

import pytest
from applications import until
from operation import free_port
from websites import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    DIRECTORY,
    FINALIZER,
    SERVICE,
    VALIDATE,
    WEBSITES,
    application,
)

from asoreconcile import (
    CUSTOM_RESOURCE_DEFINITIONS,
    EVENTS,
    ForbiddenError,
    KubeClient,
    NotFoundError,
    ObjectKey,
    Selection,
    condition_of,
    is_controlled_by,
)
from asoreconcile.kube.config import load
from asoreconcile.testing.kube import KubeServer
from asoreconcile.webhooks.ca_bundles import VALIDATING_WEBHOOKS

SHOP = ObjectKey("default", "shop")

DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "websites.demo.example.com"},
    "spec": {
        "group": WEBSITES.group,
        "scope": "Namespaced",
        "names": {"plural": "websites", "kind": "Website"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}
WEBHOOK = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "websites"},
    "webhooks": [
        {
            "name": "websites.demo.example.com",
            "clientConfig": {
                "service": {
                    "namespace": "default",
                    "name": "websites",
                    "path": VALIDATE,
                }
            },
            "rules": [
                {
                    "apiGroups": [WEBSITES.group],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE", "UPDATE"],
                    "resources": ["websites"],
                }
            ],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
    ],
}


class Cluster:
    def __init__(self, kubeconfig, port):
        self.client = KubeClient(load(kubeconfig), user_agent="tests")
        self.kubeconfig, self.port = kubeconfig, port
        self.client.create(CUSTOM_RESOURCE_DEFINITIONS, DEFINITION)

    def application(self, port=None):
        port = self.port if port is None else port
        address = f"127.0.0.1:{port}"
        return application(kubeconfig=self.kubeconfig, webhook_address=address)

    def create(self, key=SHOP, **spec):
        meta = {"namespace": key.namespace, "name": key.name}
        spec = {"host": f"{key.name}.example.com", "image": "shop:1", **spec}
        kind = {"apiVersion": WEBSITES.api_version, "kind": WEBSITES.kind}
        return self.client.create(WEBSITES, {**kind, "metadata": meta, "spec": spec})

    def get(self, resource, key=SHOP):
        """None if it is not there."""
        try:
            return self.client.get(resource, key)
        except NotFoundError:
            return None

    def directory(self):
        found = self.get(CONFIG_MAPS, DIRECTORY) or {}
        return found.get("data", {})

    def trusts(self):
        """Whether the API server has been told whose certificate it is to accept."""
        found = self.client.get(VALIDATING_WEBHOOKS, ObjectKey("", "websites"))
        return "caBundle" in found["webhooks"][0]["clientConfig"]

    def ready(self, key=SHOP):
        return condition_of(self.client.get(WEBSITES, key), "Ready")

    def set_ready_replicas(self, count):
        """What the Deployment controller of a real cluster does."""
        body = {"status": {"readyReplicas": count}}
        self.client.patch(DEPLOYMENTS, SHOP, body, subresource="status")


@pytest.fixture
def cluster(tmp_path):
    port = free_port()
    service = SERVICE.split(".")
    services = {f"{service[1]}/{service[0]}": f"127.0.0.1:{port}"}
    with KubeServer(services=services) as server:
        server.write_kubeconfig(tmp_path / "kubeconfig")
        cluster = Cluster(str(tmp_path / "kubeconfig"), port)
        yield cluster
        cluster.client.close()


def test_a_website_becomes_a_deployment_and_says_when_it_is_ready(cluster):
    with cluster.application().running():
        site = cluster.create(replicas=2)
        until(lambda: cluster.get(DEPLOYMENTS))
        made = cluster.get(DEPLOYMENTS)
        assert is_controlled_by(made, site)
        assert made["spec"]["replicas"] == 2
        until(cluster.ready)
        assert cluster.ready()["message"] == "0 of 2 replicas are ready"
        cluster.set_ready_replicas(2)
        until(lambda: cluster.ready()["status"] == "True")
        assert cluster.directory() == {"default.shop": "shop.example.com"}
        selection = Selection(EVENTS, "default")
        until(lambda: cluster.client.list_page(selection).items)
        (event,) = cluster.client.list_page(selection).items
        assert (event["reason"], event["count"]) == ("Created", 1)


def test_what_others_change_is_set_right_and_the_rest_left_alone(cluster):
    with cluster.application().running():
        cluster.create(image="shop:1")
        until(lambda: cluster.get(DEPLOYMENTS))
        theirs = {"metadata": {"labels": {"theirs": "yes"}}, "spec": {"replicas": 9}}
        cluster.client.patch(DEPLOYMENTS, SHOP, theirs)
        until(lambda: cluster.get(DEPLOYMENTS)["spec"]["replicas"] == 1)
        cluster.client.patch(WEBSITES, SHOP, {"spec": {"image": "shop:2"}})

        def image():
            template = cluster.get(DEPLOYMENTS)["spec"]["template"]
            return template["spec"]["containers"][0]["image"]

        until(lambda: image() == "shop:2")
        assert cluster.get(DEPLOYMENTS)["metadata"]["labels"] == {"theirs": "yes"}


def test_a_website_that_goes_leaves_the_directory_first(cluster):
    with cluster.application().running():
        other = ObjectKey("default", "blog")
        cluster.create()
        cluster.create(other)
        until(lambda: len(cluster.directory()) == 2)
        assert FINALIZER in cluster.client.get(WEBSITES, SHOP)["metadata"]["finalizers"]
        cluster.client.delete(WEBSITES, SHOP)
        until(lambda: cluster.get(WEBSITES) is None)
        assert cluster.directory() == {"default.blog": "blog.example.com"}
        until(lambda: cluster.get(DEPLOYMENTS) is None)


def test_a_website_without_a_whole_name_is_refused_by_the_webhook(cluster):
    cluster.client.create(VALIDATING_WEBHOOKS, WEBHOOK)
    with cluster.application().running():
        until(cluster.trusts)
        with pytest.raises(ForbiddenError, match=r"shop\.example\.com"):
            cluster.create(host="shop")
        cluster.create()
        until(cluster.directory)


def test_of_two_replicas_one_works_and_the_other_takes_over(cluster):
    with cluster.application(port=0).running() as leader:
        until(lambda: leader.leads)
        standby = cluster.application(port=0)
        with standby.running():
            cluster.create()
            until(cluster.directory)
            assert not standby.leads
            leader.stop()
            until(lambda: standby.leads)
            cluster.create(ObjectKey("default", "blog"))
            until(lambda: len(cluster.directory()) == 2)
