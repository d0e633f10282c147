"""Classes as kinds, on both servers: their CRDs, what is stored of them, conversion."""

import base64
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import attrs
import pytest
from applications import until
from contractclient import Server

from asoreconcile import (
    CUSTOM_RESOURCE_DEFINITIONS,
    Application,
    Condition,
    ConflictError,
    FileCertificates,
    InvalidError,
    NotFoundError,
    ObjectDecodeError,
    ObjectKey,
    ObjectMeta,
    PrinterColumn,
    Quantity,
    ResourceError,
    Result,
    Rule,
    ScalePaths,
    Schema,
    SystemClock,
    WebhookServer,
    convert_kinds,
    evolve,
    resource,
    resource_of,
)
from asoreconcile.cache.client import CachedClient
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.testing.throwaway_certificates import certificate_authority
from asoreconcile.wire.trust import TlsTrust

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import typed_websites as example
from typed_websites import Website, WebsiteSpec


@pytest.fixture
def application(server: Server) -> Iterator[Callable[[], Application]]:
    """Applications of the server; closed after the test."""
    made: list[Application] = []

    def make() -> Application:
        config = ClusterConfig(
            url=server.url,
            trust=lambda: TlsTrust(server.authority_pem.encode()),
            authorization=lambda: f"Bearer {server.token}",
        )
        made.append(Application("typed", cluster=config))
        return made[-1]

    yield make
    for app in made:
        app.close()


@pytest.fixture
def app(application: Callable[[], Application]) -> Application:
    return application()


@pytest.fixture
def websites(app: Application) -> Iterator[Application]:
    """The example's kind is installed, and taken away again."""
    app.install_crds(Website)
    yield app
    remove(app, Website)


@pytest.fixture
def webhooks(tmp_path: Path) -> Iterator[tuple[WebhookServer, dict[str, str]]]:
    """A server for conversions, and how API servers find and trust it."""
    authority = certificate_authority()
    pair = authority.issue(["127.0.0.1"])
    for name, content in zip(("tls.crt", "tls.key"), pair, strict=True):
        (tmp_path / name).write_bytes(content)
    server = WebhookServer(
        "127.0.0.1:0", certificates=FileCertificates(tmp_path), clock=SystemClock()
    )
    server.start()
    bundle = base64.b64encode(authority.pem).decode()
    url = f"https://127.0.0.1:{server.port}/convert"
    yield server, {"url": url, "caBundle": bundle}
    server.stop(5)


def remove(app: Application, cls: type) -> None:
    """The next test's CRD of the name waits until the last one's is gone."""
    key = ObjectKey("", resource_of(cls).full_name)
    app.client.delete(CUSTOM_RESOURCE_DEFINITIONS, key)

    def is_gone() -> bool:
        try:
            app.client.get(CUSTOM_RESOURCE_DEFINITIONS, key)
        except NotFoundError:
            return True
        return False

    until(is_gone)


def shop(namespace: str, **spec: Any) -> Website:
    return Website(
        ObjectMeta(name="shop", namespace=namespace),
        WebsiteSpec("shop.example.com", **spec),
    )


def test_an_object_is_made_read_and_changed(websites: Application, namespace: str):
    client = websites.client
    made = client.create(Website, shop(namespace, labels={"a": "b"}))
    assert (made.metadata.generation, bool(made.metadata.uid)) == (1, True)
    assert client.get(Website, made.metadata.key) == made
    assert list(client.list_all(Website, namespace=namespace)) == [made]

    def change(site: Website) -> None:
        site.spec.replicas = 3
        site.status.url = "https://shop"

    changed = client.update(made, change)
    assert changed.metadata.generation == 2
    assert (changed.spec.replicas, changed.status.url) == (3, "https://shop")
    assert made.spec.replicas == 1  # the one that was read is as it was
    again = client.update(changed, change)
    assert again.metadata.resource_version == changed.metadata.resource_version
    with pytest.raises(ConflictError):
        client.update(made, lambda site: setattr(site.spec, "replicas", 4))
    client.delete(Website, made.metadata.key)
    with pytest.raises(NotFoundError):
        client.get(Website, made.metadata.key)


def test_the_last_finalizer_is_taken_off_after_the_status_is_written(
    websites: Application, namespace: str, monkeypatch: pytest.MonkeyPatch
):
    """In one change, as a reconciler does that says what it deleted."""
    client = websites.client
    site = shop(namespace)
    site.metadata.finalizers = ["asoreconcile.dev/one", "asoreconcile.dev/two"]
    client.create(Website, site)
    client.delete(Website, site.metadata.key)
    answers: list[Any] = []
    send = client.send
    monkeypatch.setattr(
        client, "send", lambda write: answers.append(send(write)) or answers[-1]
    )

    def clean_up(site: Website) -> None:
        site.metadata.finalizers = site.metadata.finalizers[1:]
        site.status.url = f"{len(site.metadata.finalizers)} left"

    held = client.update(client.get(Website, site.metadata.key), clean_up)
    assert held.status.url == "1 left"
    gone = client.update(held, clean_up)
    assert (gone.metadata.finalizers, gone.status.url) == ([], "0 left")
    held_by = [one["metadata"].get("finalizers", []) for one in answers]
    assert [len(names) for names in held_by] == [1, 1, 1, 0]
    with pytest.raises(NotFoundError):
        client.get(Website, site.metadata.key)


def test_a_change_is_as_small_as_the_difference(
    websites: Application, namespace: str, monkeypatch: pytest.MonkeyPatch
):
    site = websites.client.create(Website, shop(namespace))
    sent = []
    send = websites.client.send
    monkeypatch.setattr(
        websites.client, "send", lambda write: (sent.append(write), send(write))[1]
    )
    after = websites.client.update(
        site, lambda one: evolve(one, spec=evolve(one.spec, tier="large"))
    )
    (write,) = sent
    version = {"resourceVersion": site.metadata.resource_version}
    assert write.body == {"spec": {"tier": "large"}, "metadata": version}
    websites.client.update(after, lambda one: setattr(one.status, "url", "https://a"))
    assert (sent[1].subresource, sent[1].body["status"]) == (
        "status",
        {"url": "https://a"},
    )
    assert len(sent) == 2


def test_a_typed_child_of_a_typed_owner_is_applied(
    websites: Application, namespace: str
):
    owner = websites.client.create(Website, shop(namespace))
    child = shop(namespace, replicas=2)
    child.metadata.name = "child"
    for _ in range(2):
        made = websites.apply(owner, child)
        assert (made.spec.replicas, made.metadata.generation) == (2, 1)
    (reference,) = made.metadata.owner_references
    assert (reference.uid, reference.controller) == (owner.metadata.uid, True)


def test_an_object_is_made_or_brought_in_order(websites: Application, namespace: str):
    def fill(site: Website) -> None:
        site.spec.replicas = 2
        site.status.url = "https://made"

    outcomes = []
    for _ in range(2):
        outcome, found = websites.client.create_or_update(shop(namespace), fill)
        outcomes.append((outcome, found.spec.replicas, found.status.url))
    assert outcomes == [
        ("created", 2, "https://made"),
        ("unchanged", 2, "https://made"),
    ]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"replicas": -1}, "spec.replicas"),
        ({"replicas": 6}, "5 at most if small"),
    ],
)
def test_the_server_refuses_what_the_class_forbids(
    websites: Application, namespace: str, spec: dict[str, Any], said: str
):
    with pytest.raises(InvalidError, match=said):
        websites.client.create(Website, shop(namespace, **spec))


def test_the_server_fills_in_the_defaults_of_the_class(
    websites: Application, namespace: str
):
    obj = {
        "metadata": {"name": "bare", "namespace": namespace},
        "spec": {"host": "bare.example.com"},
    }
    made = websites.client.create(resource_of(Website), obj)
    assert made["spec"] == {"host": "bare.example.com", "replicas": 1, "tier": "small"}


@attrs.define
class Inner:
    name: str
    port: int = 80
    note: Annotated[str | None, Schema(nullable=True)] = None


@attrs.define
class EverySpec:
    """Each form that a schema has."""

    text: Annotated[
        str, Schema(min_length=1, max_length=9, pattern="^a", immutable=True)
    ] = "a"
    number: Annotated[float, Schema(exclusive_minimum=True, minimum=0)] = 0.5
    count: Annotated[int, Schema(minimum=1, maximum=9, multiple_of=1)] = 1
    address: Annotated[str | None, Schema(format="ipv4")] = None
    target: int | str = "http"
    memory: Quantity | None = None
    blob: bytes | None = None
    size: Literal["s", "l"] = "s"
    tags: Annotated[list[str], Schema(unique=True, max_length=5)] = attrs.field(
        factory=list
    )
    by_name: Annotated[list[Inner], Schema(map_keys=["name"])] = attrs.field(
        factory=list
    )
    whole: Annotated[list[Inner], Schema(atomic=True)] = attrs.field(factory=list)
    inner: Annotated[Inner | None, Schema(atomic=True)] = None
    quota: dict[str, Quantity] = attrs.field(factory=dict)
    free: dict[str, Any] = attrs.field(factory=dict)
    anything: Any = None
    open_: Annotated[Inner | None, Schema(preserve_unknown=True)] = None
    template: ObjectMeta | None = None
    holes: list[str | None] = attrs.field(factory=list)
    maybe: int | None = None
    replicas: int = 1


@attrs.define
class EveryStatus:
    replicas: int = 0
    selector: str = ""
    conditions: list[Condition] = attrs.field(factory=list)


@resource(
    "typed.example.com/v1",
    plural="everythings",
    short_names=["ev"],
    categories=["all"],
    columns=[
        PrinterColumn("Text", ".spec.text", description="The text."),
        PrinterColumn("Count", ".spec.count", wide=True),
        PrinterColumn("Ready", ".status.conditions[?(@.type=='Ready')].status"),
    ],
    scale=ScalePaths(selector=".status.selector"),
    selectable=[".spec.text"],
    rules=[Rule("self.spec.count < 9", message_expression="'count is 9'")],
)
@attrs.define
class Everything:
    """All there is."""

    metadata: ObjectMeta
    spec: EverySpec
    status: EveryStatus = attrs.field(factory=EveryStatus)


@attrs.define
class LimitedSpec:
    limit: int | None = 5
    free: dict[str, Any] = attrs.field(factory=dict)


@attrs.define
class LimitedStatus:
    seen: int | None = 5


@resource("typed.example.com/v1", plural="limiteds")
@attrs.define
class Limited:
    """A kind whose fields may be null, and have a default."""

    metadata: ObjectMeta
    spec: LimitedSpec = attrs.field(factory=LimitedSpec)
    status: LimitedStatus = attrs.field(factory=LimitedStatus)


def test_an_update_makes_a_field_null(app: Application, namespace: str):
    app.install_crds(Limited)
    made = app.client.create(
        Limited, Limited(ObjectMeta(name="a", namespace=namespace))
    )
    assert (made.spec.limit, made.status.seen) == (5, 5)

    def change(obj: Limited) -> None:
        obj.spec.limit = obj.status.seen = None
        obj.spec.free = {"a": None}

    changed = app.client.update(made, change)
    assert (changed.spec.limit, changed.status.seen) == (None, None)
    assert changed.spec.free == {"a": None}
    assert app.client.get(Limited, made.metadata.key) == changed
    assert app.client.update(changed, change) == changed
    with pytest.raises(ConflictError):
        app.client.update(made, change)
    _, back = app.client.create_or_update(
        changed, lambda obj: setattr(obj.spec, "limit", 5)
    )
    assert (back.spec.limit, back.status.seen) == (5, None)
    _, last = app.client.create_or_update(back, change)
    assert last.spec.limit is None
    remove(app, Limited)


def test_the_server_takes_each_form_of_a_schema(app: Application, namespace: str):
    (crd,) = app.install_crds(Everything)
    conditions = {c["type"]: c["status"] for c in crd["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}  # structural
    spec = EverySpec(
        address="10.0.0.1",
        memory=Quantity("1Gi"),
        blob=b"x",
        tags=["a", "b"],
        by_name=[Inner("a"), Inner("b", 81, "text")],
        whole=[Inner("a"), Inner("a")],
        inner=Inner("a"),
        quota={"cpu": Quantity("500m"), "pods": Quantity(3)},
        free={"a": {"b": [1, None]}},
        anything=[1, "a"],
        template=ObjectMeta(name="pod", labels={"a": "b"}),
        holes=["a", None],
    )
    made = app.client.create(
        Everything, Everything(ObjectMeta(name="all", namespace=namespace), spec)
    )
    assert made.spec == spec
    # Scale is a subresource by the class's paths.
    key = made.metadata.key
    scale = app.client.get(resource_of(Everything), key, subresource="scale")
    assert scale["spec"]["replicas"] == 1
    kept = app.client.patch(
        Everything, key, {"spec": {"open": {"name": "a", "more": {"deep": 1}}}}
    )
    changed = app.client.update(kept, lambda one: setattr(one.spec, "count", 2))
    raw = app.client.get(resource_of(Everything), key)
    assert raw["spec"]["open"]["more"] == {"deep": 1}
    with pytest.raises(InvalidError, match="is immutable"):
        app.client.update(changed, lambda one: setattr(one.spec, "text", "abc"))
    with pytest.raises(InvalidError, match="count is 9"):
        app.client.update(changed, lambda one: setattr(one.spec, "count", 9))
    found = app.client.list_all(
        Everything, namespace=namespace, field_selector="spec.text=a"
    )
    assert [one.metadata.name for one in found] == ["all"]
    remove(app, Everything)


def test_a_create_without_a_namespace_says_so(websites: Application):
    with pytest.raises(ValueError, match="Website shop has no namespace"):
        websites.client.create(Website, shop(""))


def test_an_object_that_the_class_cannot_hold_is_named(
    websites: Application, namespace: str
):
    @resource("typed.example.com/v1", plural="websites", kind="Website")
    @attrs.define
    class Narrow:
        metadata: ObjectMeta
        spec: dict[str, int]

    websites.client.create(Website, shop(namespace))
    with pytest.raises(
        ObjectDecodeError,
        match=rf"{namespace}/shop: Narrow: spec\.\w+ must be a whole number",
    ):
        websites.client.get(Narrow, ObjectKey(namespace, "shop"))
    found = websites.client.list_all(Narrow, namespace=namespace)
    assert list(found) == []
    assert [one.key for one in found.unreadable] == [ObjectKey(namespace, "shop")]
    with pytest.raises(ObjectDecodeError):
        list(websites.client.list_all(Narrow, namespace=namespace, strict=True))


def test_a_typed_informer_and_reconciler_see_their_objects(
    application: Callable[[], Application], namespace: str
):
    app = application()
    app.install_crds(Website)
    seen: list[str] = []
    informer = app.informer(Website)
    informer.add_index("host", lambda site: [site.spec.host])

    def reconcile(site: Website) -> Result | None:
        seen.append(site.spec.host)
        app.cached.update(site, lambda one: setattr(one.status, "url", "https://x"))
        return None

    app.reconcile(Website, reconcile)
    with app.running():
        app.wait_until_ready()
        made = app.client.create(Website, shop(namespace))
        key = made.metadata.key
        until(lambda: app.client.get(Website, key).status.url == "https://x")
        assert "shop.example.com" in seen
        assert isinstance(app.cached, CachedClient)
        until(lambda: informer.get(key) is not None)
        until(lambda: app.cached.get(Website, key).status.url == "https://x")
        assert [one.metadata.key for one in informer.list(namespace)] == [key]
        assert [
            o.metadata.key for o in app.cached.list(Website, namespace=namespace)
        ] == [key]
        assert key in informer.by_index("host", "shop.example.com")
    cleaner = application()
    remove(cleaner, Website)


def test_the_example_writes_what_it_makes(
    server: Server,
    namespace: str,
    tmp_path: Path,
    application: Callable[[], Application],
):
    app = application()
    app.install_crds(Website)
    app.reconcile(Website, example.Websites(app)).owns(example.CONFIG_MAPS)
    app.informer(example.CONFIG_MAPS)
    with app.running():
        app.wait_until_ready()
        made = app.client.create(Website, shop(namespace))
        key = made.metadata.key
        until(lambda: app.client.get(Website, key).status.conditions)
        (condition,) = app.client.get(Website, key).status.conditions
        assert (condition.type, condition.status, condition.observed_generation) == (
            "Ready",
            "True",
            1,
        )
        page = app.client.get(example.CONFIG_MAPS, key)
        assert page["data"] == {"host": "shop.example.com", "tier": "small"}
        assert page["metadata"]["ownerReferences"][0]["uid"] == made.metadata.uid
    remove(application(), Website)


def test_a_crd_that_would_drop_stored_data_is_refused(
    websites: Application, namespace: str
):
    @attrs.define
    class LessSpec:
        host: str

    @resource("typed.example.com/v1", plural="websites", kind="Website")
    @attrs.define
    class Less:
        metadata: ObjectMeta
        spec: LessSpec

    websites.client.create(Website, shop(namespace))
    with pytest.raises(ResourceError, match=r"lose data: .*v1: \.spec\.replicas would"):
        websites.install_crds(Less)
    assert websites.client.get(Website, ObjectKey(namespace, "shop")).spec.replicas == 1
    websites.install_crds(Less, allow_data_loss=True)


def test_installing_again_changes_nothing(websites: Application):
    key = ObjectKey("", resource_of(Website).full_name)
    before = websites.client.get(CUSTOM_RESOURCE_DEFINITIONS, key)
    (after,) = websites.install_crds(Website)
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


def test_versions_are_converted_by_functions(
    app: Application, namespace: str, webhooks: tuple[WebhookServer, dict[str, str]]
):
    server, config = webhooks
    server.convert("/convert", convert_kinds(example.conversions))
    app.install_crds(*example.conversions.classes, conversion=config)
    made = app.client.create(Website, shop(namespace, tier="large", replicas=7))
    key = made.metadata.key
    old = app.client.get(example.OldWebsite, key)
    assert (old.spec.hostname, old.spec.size) == ("shop.example.com", 7)
    app.client.update(old, lambda one: setattr(one.spec, "size", 8))
    new = app.client.get(Website, key)
    assert (new.spec.replicas, new.spec.tier) == (8, "large")
    assert new.metadata.uid == made.metadata.uid
    remove(app, Website)
