"""Code for type checkers, which is never run: classes as kinds, and their inferred
types.

Each line marked `error:` must be refused (by mypy with that code), all others accepted.
"""

from collections.abc import Sequence
from typing import assert_type

import attrs

from asoreconcile import (
    CONFIG_MAPS,
    AdmissionRequest,
    Allowed,
    Application,
    Conversions,
    Denied,
    Informer,
    JsonObject,
    ObjectKey,
    ObjectMeta,
    Request,
    Result,
    TypedInformer,
    TypedWebhookServer,
    evolve,
    from_dict,
    resource,
    to_dict,
)
from asoreconcile.resources.decoded import DecodedList, Decoding


@attrs.define
class Spec:
    host: str
    replicas: int = 1


@resource("example.com/v1", plural="websites")
@attrs.define
class Website:
    metadata: ObjectMeta
    spec: Spec


@resource("example.com/v2", plural="websites", kind="Website")
@attrs.define
class NewWebsite:
    metadata: ObjectMeta


class Plain:
    pass


def use(app: Application, key: ObjectKey) -> None:
    assert_type(app.client.get(Website, key), Website)
    assert_type(app.client.get(CONFIG_MAPS, key), JsonObject)
    assert_type(app.cached.get(Website, key), Website)
    assert_type(app.cached.list(Website), DecodedList[Website])
    assert_type(app.cached.list(CONFIG_MAPS), Sequence[JsonObject])
    assert_type(app.client.list_all(Website, namespace="a"), Decoding[Website])
    assert_type(app.informer(Website), TypedInformer[Website])
    assert_type(app.informer(CONFIG_MAPS), Informer)
    assert_type(app.informer(Website).get(key), Website | None)
    site = Website(ObjectMeta(name="a"), Spec("a.b"))
    assert_type(app.client.create(Website, site), Website)
    assert_type(app.client.create(CONFIG_MAPS, {}), JsonObject)
    assert_type(app.client.update(site, evolve), Website)
    assert_type(app.client.patch(Website, key, {}), Website)
    assert_type(app.client.create_or_update(site, grow)[1], Website)
    assert_type(from_dict(Website, {}), Website)
    assert_type(to_dict(site), JsonObject)
    assert_type(evolve(site.spec, replicas=2), Spec)
    app.informer(Website).add_index("host", lambda one: [one.spec.host])
    assert_type(app.apply(site, {}), JsonObject)
    assert_type(app.apply({}, site), Website)
    app.before_start("CRDs", lambda: app.install_crds(Website))
    app.when_leading("CRDs", lambda: app.install_crds(Website))
    app.client.create(Website, {})  # error: call-overload
    app.client.get(Plain, key)  # error: type-var
    app.client.update(site, close)  # error: arg-type
    site.spec.host = site.spec.port  # error: attr-defined
    site.spec.replicas = "two"  # error: assignment
    grow(from_dict(Website, {}).site)  # error: attr-defined


def grow(site: Website) -> None:
    site.spec.replicas += 1


def close(site: NewWebsite) -> None:
    site.metadata.labels["closed"] = "yes"


def reconcile(site: Website) -> Result | None:
    return Result() if site.spec.replicas else None


def by_request(request: Request) -> Result:
    return Result()


def of_another(site: NewWebsite) -> Result:
    return Result()


def answers_text(site: Website) -> str:
    return site.spec.host


class Sites:
    def reconcile(self, site: Website) -> None:
        grow(site)


def register(app: Application) -> None:
    app.reconcile(Website, reconcile).owns(CONFIG_MAPS).watches(NewWebsite)
    app.reconcile(Website, Sites())
    app.reconcile(Website, by_request)
    app.reconcile(app.informer(Website), reconcile)
    app.reconcile(CONFIG_MAPS, by_request)
    app.install_crds(Website, NewWebsite)
    app.reconcile(Website, of_another)  # error: arg-type
    app.reconcile(Website, answers_text)  # error: arg-type
    app.reconcile(CONFIG_MAPS, reconcile)  # error: arg-type


def check(site: Website) -> Denied | None:
    return None if site.spec.replicas else Denied("none")


def check_change(site: Website, old: Website | None) -> Allowed | Denied:
    return Denied("moved") if old and site.spec.host != old.spec.host else Allowed()


def check_request(request: AdmissionRequest) -> Allowed:
    return Allowed()


def fill_in(site: Website) -> None:
    site.metadata.labels["checked"] = "yes"


def ask(server: TypedWebhookServer) -> None:
    server.validate(Website, check, check_change, check_request)
    server.validate("/check", check_request)
    server.mutate(Website, fill_in, lambda site: evolve(site, spec=Spec("a.b")))
    server.mutate(NewWebsite, close)
    server.validate(NewWebsite, check)  # error: arg-type
    server.validate(Website, answers_text)  # error: arg-type
    server.mutate(NewWebsite, fill_in)  # error: arg-type
    server.validate("/check", check)  # error: arg-type


conversions = Conversions(Website, NewWebsite)


@conversions.add
def newer(old: Website) -> NewWebsite:
    return NewWebsite(old.metadata)
