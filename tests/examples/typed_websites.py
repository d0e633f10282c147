"""A controller of a typed kind: each Website is written into a ConfigMap of its own.

What it shows: classes as a kind, its CRD installed at the start, a reconciler that gets
an object, changes written as differences, and two versions with a conversion.

    asoreconcile crds tests/examples/typed_websites.py --webhook-service web/websites
"""

import sys
from typing import Annotated, Literal

import attrs

from asoreconcile import (
    CONFIG_MAPS,
    Application,
    Conditions,
    Conversions,
    JsonObject,
    ObjectMeta,
    PrinterColumn,
    Result,
    Rule,
    Schema,
    create_or_patch,
    log,
    resource,
    set_owner,
    to_dict,
    update_condition,
)


@attrs.define
class WebsiteSpec:
    """What is wanted."""

    host: Annotated[str, Schema(pattern=r"^[a-z0-9.-]+$", max_length=253)]
    """The whole name, such as shop.example.com."""
    replicas: Annotated[int, "How many pods serve it.", Schema(minimum=0)] = 1
    tier: Literal["small", "large"] = "small"
    labels: dict[str, str] = attrs.field(factory=dict)


@attrs.define
class WebsiteStatus:
    """What there is."""

    url: str = ""
    conditions: Conditions = attrs.field(factory=list)


@resource(
    "typed.example.com/v1",
    plural="websites",
    short_names=["web"],
    columns=[
        PrinterColumn("Host", ".spec.host"),
        PrinterColumn("Age", ".metadata.creationTimestamp"),
    ],
    rules=[
        Rule(
            "self.spec.tier == 'large' || self.spec.replicas <= 5", "5 at most if small"
        )
    ],
    storage=True,
)
@attrs.define
class Website:
    """A site with a name of its own."""

    metadata: ObjectMeta
    spec: WebsiteSpec
    status: WebsiteStatus = attrs.field(factory=WebsiteStatus)


@attrs.define
class OldWebsiteSpec:
    """As v1alpha1 had it: the size was how many pods there are."""

    hostname: str
    size: int = 1


@resource(
    "typed.example.com/v1alpha1",
    plural="websites",
    kind="Website",
    deprecated="use typed.example.com/v1",
)
@attrs.define
class OldWebsite:
    """A site of before."""

    metadata: ObjectMeta
    spec: OldWebsiteSpec


TIER = "typed.example.com/tier"
conversions = Conversions(Website, OldWebsite)


@conversions.add
def newer(old: OldWebsite) -> Website:
    """The old version has no tier: it is kept in an annotation."""
    tier = old.metadata.annotations.pop(TIER, "small")
    spec = WebsiteSpec(old.spec.hostname, old.spec.size)
    spec.tier = "large" if tier == "large" else "small"
    return Website(old.metadata, spec)


@conversions.add
def older(new: Website) -> OldWebsite:
    if new.spec.tier != "small":
        new.metadata.annotations[TIER] = new.spec.tier
    return OldWebsite(new.metadata, OldWebsiteSpec(new.spec.host, new.spec.replicas))


class Websites:
    def __init__(self, app: Application) -> None:
        self.app = app

    def reconcile(self, site: Website) -> Result | None:
        def fill(page: JsonObject) -> None:
            set_owner(page, to_dict(site))
            page["data"] = {"host": site.spec.host, "tier": site.spec.tier}

        create_or_patch(self.app.cached, CONFIG_MAPS, site.metadata.key, fill)
        self.app.cached.update(site, self.report)
        return None

    def report(self, site: Website) -> None:
        """What is written of it is the difference, by the status subresource."""
        site.status.url = f"https://{site.spec.host}"
        update_condition(
            site.status.conditions,
            "Ready",
            "True",
            "Written",
            observed_generation=site.metadata.generation,
        )


def application(kubeconfig: str | None = None) -> Application:
    app = Application("typed-websites", cluster=kubeconfig)
    app.install_crds(Website)
    app.reconcile(Website, Websites(app)).owns(CONFIG_MAPS)
    return app


def main() -> int:
    log.configure(json=True)
    return application().run()


if __name__ == "__main__":
    sys.exit(main())
