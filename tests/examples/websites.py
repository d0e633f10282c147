"""A controller with a kind of its own: each Website runs as a Deployment.

What it shows: a finalizer for what owner references do not reach, a child that is owned,
status conditions, events, a validating webhook whose certificate looks after itself, and
two replicas of which one works.
"""

import argparse
import sys
from pathlib import Path

from asoreconcile import (
    CONFIG_MAPS,
    AdmissionRequest,
    Allowed,
    ApiResource,
    Application,
    Denied,
    JsonObject,
    ManagedCertificates,
    NotFoundError,
    ObjectKey,
    Request,
    Result,
    WebhookTarget,
    add_finalizer,
    create_or_patch,
    generation_changed,
    is_deleting,
    key_of,
    log,
    patch_object,
    remove_finalizer,
    set_condition,
    set_owner,
    webhook_path,
)

WEBSITES = ApiResource("demo.example.com", "v1", "websites", "Website")
DEPLOYMENTS = ApiResource("apps", "v1", "deployments", "Deployment")
FINALIZER = "demo.example.com/directory"
DIRECTORY = ObjectKey("default", "directory")  # one line for each Website
SERVICE = "websites.default.svc"
VALIDATE = webhook_path("validate", WEBSITES.gvk)


class Websites:
    def __init__(self, app: Application) -> None:
        self.app = app
        self.client = app.cached  # reads what it wrote itself

    def reconcile(self, request: Request) -> Result:
        try:
            site = self.client.get(WEBSITES, request.key)
        except NotFoundError:
            return Result()
        if is_deleting(site):
            return self.release(site)
        _, site = patch_object(
            self.client, WEBSITES, site, lambda obj: add_finalizer(obj, FINALIZER)
        )
        self.list_in_directory(key_of(site), site["spec"]["host"])
        done, deployment = create_or_patch(
            self.client, DEPLOYMENTS, key_of(site), lambda obj: fill(obj, site)
        )
        if done == "created":
            self.app.recorder.event(site, "Normal", "Created", "made its Deployment")
        self.report(site, deployment)
        return Result()

    def release(self, site: JsonObject) -> Result:
        """Nothing is left behind when the object goes."""
        self.list_in_directory(key_of(site), None)
        patch_object(
            self.client, WEBSITES, site, lambda obj: remove_finalizer(obj, FINALIZER)
        )
        return Result()

    def list_in_directory(self, key: ObjectKey, host: str | None) -> None:
        """A merge patch of one line: other Websites' lines are not ours."""
        line = {"data": {f"{key.namespace}.{key.name}": host}}
        try:
            self.app.client.patch(CONFIG_MAPS, DIRECTORY, line)
        except NotFoundError:
            if host is not None:
                meta = {"namespace": DIRECTORY.namespace, "name": DIRECTORY.name}
                self.app.client.create(CONFIG_MAPS, {"metadata": meta, **line})

    def report(self, site: JsonObject, deployment: JsonObject) -> None:
        wanted = site["spec"].get("replicas", 1)
        ready = deployment.get("status", {}).get("readyReplicas", 0)

        def change(obj: JsonObject) -> None:
            set_condition(
                obj,
                "Ready",
                "True" if ready >= wanted else "False",
                "Serving" if ready >= wanted else "Starting",
                f"{ready} of {wanted} replicas are ready",
            )

        patch_object(self.client, WEBSITES, site, change, has_status=True)


def fill(deployment: JsonObject, site: JsonObject) -> None:
    """What of a Deployment a Website decides; the rest is left as it is."""
    set_owner(deployment, site, block_deletion=True)
    labels = {"website": key_of(site).name}
    spec = deployment.setdefault("spec", {})
    spec["replicas"] = site["spec"].get("replicas", 1)
    spec.setdefault("selector", {"matchLabels": labels})
    container = {"name": "web", "image": site["spec"]["image"]}
    template = spec.setdefault("template", {"metadata": {"labels": labels}})
    template.setdefault("spec", {})["containers"] = [container]


def check(request: AdmissionRequest) -> Allowed | Denied:
    spec = (request.obj or {}).get("spec", {})
    if "." not in spec.get("host", ""):
        return Denied("spec.host: write a whole name, such as shop.example.com")
    if spec.get("replicas", 1) == 0:
        return Allowed(warnings=("nobody serves a site without replicas",))
    return Allowed()


def application(
    *, kubeconfig: str | None = None, webhook_address: str = ":9443", health: str = "0"
) -> Application:
    app = Application(
        "websites",
        cluster=kubeconfig,
        leader_election="websites",
        health_address=health,
    )
    sites = app.reconcile(WEBSITES, Websites(app), when=generation_changed)
    sites.owns(DEPLOYMENTS)
    certificates = ManagedCertificates(
        app.client,
        ObjectKey("default", "websites-certificate"),
        [SERVICE],
        clock=app.clock,
        targets=lambda: [WebhookTarget.validating("websites")],
        metrics=app.webhook_metrics,
    )
    app.webhooks(webhook_address, certificates=certificates).validate(VALIDATE, check)
    return app


def main() -> int:
    parser = argparse.ArgumentParser(description=Path(__file__).stem)
    parser.add_argument("--health-address", default=":8081")
    log.configure(json=True)
    return application(health=parser.parse_args().health_address).run()


if __name__ == "__main__":
    sys.exit(main())
