"""Credentials in every scope, pass by pass: two Azures, and Secrets that change.

The operator's settings lead to one Azure; a Secret that names a cloud to the other, so
that the journals tell which credential was used.
"""

import logging

import attrs
import pytest
from operation import Operation
from world import OPERATOR, World, postgres_server, resource_group, virtual_network

from asoreconcile.azure.arm.credentials import CloudConfig
from asoreconcile.azure.arm.credentials_secret import SecretRules
from asoreconcile.azure.controllers.arm_client_factory import ArmClientFactory
from asoreconcile.azure.controllers.credential_resolver import (
    CredentialResolver,
    content_digest,
)
from asoreconcile.azure.reconcile.model.annotations import (
    CREDENTIAL_FROM,
    POLLER_TOKEN,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.scope.shared_dependencies import Connection
from asoreconcile.base.objects import ObjectKey, annotations, key_of
from asoreconcile.cache.entry import Entry
from asoreconcile.kube.errors import NotFoundError
from asoreconcile.kube.resources import NAMESPACES, SECRETS
from asoreconcile.testing.arm import ArmServer

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"
SERVERS = "dbforpostgresql.azure.com/FlexibleServer"


class Headers:
    """A cache of Secrets that never lags."""

    def __init__(self, client):
        self._client = client

    def has_synced(self):
        return True

    def entry(self, key):
        try:
            return Entry(self._client.get(SECRETS, key))
        except NotFoundError:
            return None


@pytest.fixture
def world(tmp_path, request):
    """A test may ask for another Azure by parametrising this indirectly."""
    with World(tmp_path, **getattr(request, "param", {})) as running:
        running.install(GROUPS, NETWORKS)
        yield running


@pytest.fixture
def other(world, tmp_path):
    """Another Azure, with another subscription, tenant and application."""
    with ArmServer(clock=world.clock) as azure:
        with (tmp_path / "azure-ca.pem").open("ab") as bundle:
            bundle.write(azure.ca_pem)
        yield azure


@pytest.fixture
def connector(world):
    connector = ArmClientFactory(clock=world.clock)
    yield connector
    connector.close()


@pytest.fixture
def operator(world, other, connector):
    settings = Connection(
        world.arm, subscription_id=world.azure.subscription_id, source="ops/settings"
    )
    return scoped(world, connector, settings)


def scoped(world, connector, settings):
    azure = world.azure
    cloud = CloudConfig(authority_host=azure.authority, endpoint=azure.url)
    return attrs.evolve(
        world.operator,
        connections=CredentialResolver(
            world.client,
            Headers(world.client),
            connect=connector,
            rules=SecretRules(
                cloud=cloud,
                allow_clouds=True,
                cloud_hosts=frozenset({"127.0.0.1", "localhost"}),
            ),
            settings=lambda: settings,
            seen=lambda _group_kind: "",
            clock=world.clock,
            namespace=OPERATOR,
        ),
    )


def put_secret(world, azure, name="aso-credential", **changes):
    values = {**azure.settings(), **changes}
    world.client.patch(
        SECRETS,
        key := _key(name),
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": key.name, "namespace": key.namespace},
            "stringData": values,
        },
        kind="apply",
        field_manager="tests",
        force=True,
    )


def drop_secret(world, name="aso-credential"):
    world.client.delete(SECRETS, _key(name))


def _key(name):
    return ObjectKey("default", name)


def run(world, operator, obj, passes=4):
    """Passes until the object is Ready, or no more; its condition."""
    for _ in range(passes):
        result = world.run(obj, operator=operator)
        ready = world.ready(obj)
        if ready and ready["status"] == "True":
            break
        world.clock.advance(min(result.requeue_after_seconds or 0.0, 10.0))
    return ready


def writes(azure):
    return [(r.method, r.path) for r in azure.journal if r.method != "GET"]


def failure(world, operator, obj, reason, severity="Warning"):
    ready = run(world, operator, obj)
    assert (ready["status"], ready["reason"], ready["severity"]) == (
        "False",
        reason,
        severity,
    )
    return ready["message"]


def test_r8_1_a_namespaces_secret_comes_before_the_settings(world, other, operator):
    put_secret(world, other)
    group = resource_group()
    world.apply(group)
    assert run(world, operator, group)["status"] == "True"
    assert len(writes(other)) == 1
    assert writes(world.azure) == []
    sources = [
        text for _, _, reason, text in world.events if reason == "CredentialFrom"
    ]
    assert sources == ['Using credential from "default/aso-credential"']


def test_r8_1_an_objects_own_secret_comes_before_its_namespaces(world, other, operator):
    put_secret(world, world.azure, AZURE_CLIENT_SECRET="never used")
    put_secret(world, other, "own")
    group = resource_group()
    group["metadata"]["annotations"] = {CREDENTIAL_FROM: "own"}
    world.apply(group)
    assert run(world, operator, group)["status"] == "True"
    assert len(writes(other)) == 1


def test_another_credential_is_said_once(world, other, operator):
    """Of the same subscription: nothing else would show it."""
    group = resource_group()
    world.apply(group)
    run(world, operator, group)
    put_secret(world, world.azure)
    for _ in range(2):
        run(world, operator, group)
    sources = [
        text for _, _, reason, text in world.events if reason == "CredentialFrom"
    ]
    assert sources == [
        'Using credential from "ops/settings"',
        'Using credential from "default/aso-credential"',
    ]


def test_a_named_secret_is_waited_for(world, other, operator):
    group = resource_group()
    group["metadata"]["annotations"] = {CREDENTIAL_FROM: "own"}
    world.apply(group)
    message = failure(world, operator, group, "CredentialError")
    assert "Secret 'own'" in message
    assert world.azure.journal == other.journal == []
    put_secret(world, other, "own")
    assert run(world, operator, group)["status"] == "True"


def uses(world, obj):
    """Whether an object's last pass used the credential that is in the Secret now."""
    data = world.client.get(SECRETS, _key("aso-credential"))["data"]
    return world.kind_of(obj).memories.has_used(
        key_of(world.read(obj)), content_digest(data)
    )


def test_d13_a_pass_says_which_content_it_uses(world, other, operator):
    """Who uses it need not be woken for it."""
    put_secret(world, other)
    group = resource_group()
    world.apply(group)
    assert not uses(world, group)
    world.run(group, operator=operator)
    assert uses(world, group)
    put_secret(world, other, AZURE_CLIENT_SECRET="another")
    assert not uses(world, group)


def test_what_an_object_used_that_was_never_claimed_goes_with_it(
    world, other, operator
):
    put_secret(world, other)
    world.install(SERVERS)
    group, server = resource_group(), postgres_server()
    world.apply(group)
    run(world, operator, group)
    world.apply(server)
    failure(world, operator, server, "SecretNotFound")
    assert uses(world, server)
    world.delete(server)
    world.run(server, operator=operator)
    assert world.kind_of(server).memories._by_key == {}


@pytest.mark.parametrize("found", ["nothing", "nonsense"])
def test_d13_a_pass_without_a_credential_uses_none(world, other, operator, found):
    """Its Secret's return wakes it, though it was in use before."""
    put_secret(world, other)
    group = resource_group()
    group["metadata"]["annotations"] = {CREDENTIAL_FROM: "aso-credential"}
    world.apply(group)
    run(world, operator, group)
    if found == "nothing":
        drop_secret(world)
    else:
        put_secret(world, other, AZURE_TENANT_ID="")
    failure(world, operator, group, "CredentialError")
    put_secret(world, other)
    assert not uses(world, group)


def test_d13_while_a_pass_looks_for_its_credential_it_uses_none(world, other, operator):
    """What comes back just after the look would be missed."""
    put_secret(world, other)
    group = resource_group()
    world.apply(group)
    run(world, operator, group)
    inner, used = operator.connections.for_object, []

    def look(obj):
        used.append(uses(world, group))
        return inner(obj)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(operator.connections), "for_object", staticmethod(look))
        world.run(group, operator=operator)
    assert used == [False]
    assert uses(world, group)


def test_r8_3_every_missing_key_is_in_the_condition(world, operator):
    world.apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "aso-credential"},
            "stringData": {"AZURE_CLIENT_SECRET": "canary-lonely"},
        },
        marked=False,
    )
    group = resource_group()
    world.apply(group)
    message = failure(world, operator, group, "CredentialError")
    for key in ("AZURE_SUBSCRIPTION_ID", "AZURE_TENANT_ID", "AZURE_CLIENT_ID"):
        assert key in message
    assert world.azure.journal == []
    drop_secret(world)
    assert run(world, operator, group)["status"] == "True"


def test_r8_4_a_corrected_secret_is_used_and_none_is_shown(
    world, other, operator, caplog
):
    caplog.set_level(logging.DEBUG)
    put_secret(world, other, AZURE_CLIENT_SECRET="canary-outdated")
    group = resource_group()
    world.apply(group)
    message = failure(world, operator, group, "CredentialError")
    assert "AADSTS7000215" in message
    assert "Secret default/aso-credential" in message
    put_secret(world, other)
    assert run(world, operator, group)["status"] == "True"
    shown = "".join((caplog.text, str(world.read(group)), str(world.events)))
    for canary in ("canary-outdated", other.client_secret, *other.entra.tokens()):
        assert canary not in shown


def test_no_global_credential_is_an_error_of_who_needs_it(world, other, connector):
    operator = scoped(world, connector, None)
    group = resource_group()
    world.apply(group)
    message = failure(world, operator, group, "CredentialError")
    assert message.startswith("global credential not configured")
    put_secret(world, other)
    assert run(world, operator, group)["status"] == "True"


def test_r8_6_a_credential_of_another_subscription_changes_nothing(
    world, other, operator
):
    group = resource_group()
    world.apply(group)
    run(world, operator, group)
    before = writes(world.azure)
    put_secret(world, other)
    message = failure(world, operator, group, "SubscriptionMismatch", "Error")
    assert world.azure.subscription_id in message
    assert other.subscription_id in message
    assert "default/aso-credential" in message
    world.delete(group)
    failure(world, operator, group, "SubscriptionMismatch", "Error")
    assert writes(world.azure) == before
    assert writes(other) == []
    drop_secret(world)
    run(world, operator, group)
    assert world.read(group) is None
    assert [method for method, _ in writes(world.azure)] == ["PUT", "DELETE"]


def test_a_deletion_waits_for_its_credential(world, other, operator):
    put_secret(world, other, "own")
    group = resource_group()
    group["metadata"]["annotations"] = {CREDENTIAL_FROM: "own"}
    world.apply(group)
    run(world, operator, group)
    drop_secret(world, "own")
    world.delete(group)
    world.restart()
    assert "Secret 'own'" in failure(world, operator, group, "CredentialError")
    put_secret(world, other, "own")
    run(world, operator, group)
    assert world.read(group) is None
    assert other.resources() == {}


def waits(world, operator, obj):
    """One pass, after which Azure's operation runs; its token."""
    world.run(obj, operator=operator)
    token = annotations(world.read(obj)).get(POLLER_TOKEN)
    assert token
    return token


@pytest.mark.parametrize("world", [{"lro": 30.0, "retry_after": 10}], indirect=True)
def test_r8_6_a_running_operation_is_not_asked_for_with_another_credential(
    world, other, operator
):
    """To a stranger Azure would say the resource is gone: the object would be let go
    while its resource lives.
    """
    group, network = resource_group(), virtual_network()
    for obj in (group, network):
        world.apply(obj)
    run(world, operator, group, passes=9)
    for begin in (lambda: None, lambda: world.delete(network)):
        begin()
        token = waits(world, operator, network)
        put_secret(world, other)
        failure(world, operator, network, "SubscriptionMismatch", "Error")
        assert annotations(world.read(network))[POLLER_TOKEN] == token
        drop_secret(world)
        run(world, operator, network, passes=9)
    assert world.read(network) is None
    assert other.journal == []
    assert [m for m, p in writes(world.azure) if "virtualNetworks" in p] == [
        "PUT",
        "DELETE",
    ]


def test_an_owner_in_another_subscription_is_named_before_any_write(
    world, other, operator
):
    group, network = resource_group(), virtual_network()
    network["metadata"]["annotations"] = {CREDENTIAL_FROM: "own"}
    put_secret(world, other, "own")
    for obj in (group, network):
        world.apply(obj)
        run(world, operator, obj)
    ready = world.ready(network)
    assert (ready["reason"], ready["severity"]) == ("SubscriptionMismatch", "Error")
    assert writes(other) == []
    assert (
        annotations(world.read(network)).keys().isdisjoint({POLLER_TOKEN, RESOURCE_ID})
    )


def test_a_changed_secret_wakes_who_uses_it(tmp_path):
    """A real manager: the mismatch alone would be looked at again in an hour."""
    with Operation(tmp_path) as operation:
        azure, group = operation.azure, resource_group()
        operation.install(group)
        operation.start_manager(AZURE_SUBSCRIPTION_ID="", RATE_LIMIT_MODE="bucket")
        operation.apply(group)
        lacking = operation.wait_condition(group, "CredentialError")
        assert lacking["message"].startswith("global credential not configured")
        keys = ("SUBSCRIPTION_ID", "TENANT_ID", "CLIENT_ID", "CLIENT_SECRET")
        values = {f"AZURE_{k}": azure.settings()[f"AZURE_{k}"] for k in keys}
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "aso-credential"},
            "stringData": values,
        }
        operation.apply(secret)
        operation.wait_ready(group)
        secret["stringData"] = values | {"AZURE_SUBSCRIPTION_ID": "another"}
        operation.apply(secret)
        operation.wait_condition(group, "SubscriptionMismatch")
        secret["stringData"] = values
        operation.apply(secret)
        operation.wait_ready(group)
        assert azure.client_secret not in operation.logs()


# A credential that is gone.


def test_r8_7_a_deletion_uses_the_credential_that_was_used_last(world, other, operator):
    """The Namespace is deleted: its Secret goes first, its objects need it still."""
    put_secret(world, other)
    group = resource_group()
    world.apply(group)
    assert run(world, operator, group)["status"] == "True"
    drop_secret(world)
    world.delete(group)
    for _ in range(4):
        world.run(group, operator=operator)
        world.clock.advance(10.0)
    assert world.read(group) is None
    assert writes(other)[-1][0] == "DELETE"
    assert writes(world.azure) == []


def test_r8_7_after_a_restart_it_says_which_secret_to_create(world, other, operator):
    put_secret(world, other)
    group = resource_group()
    world.apply(group)
    run(world, operator, group)
    drop_secret(world)
    world.delete(group)
    world.restart()
    operator.connections.forget(_key("aso-credential"))
    other.journal.clear()
    world.run(group, operator=operator)
    ready = world.ready(group)
    assert ready["reason"] == "CredentialError"
    assert f"create Secret {OPERATOR}/aso-credential.default" in ready["message"]
    assert writes(other) == writes(world.azure) == []
    stand_in = ObjectKey(OPERATOR, "aso-credential.default")
    namespace = {"metadata": {"name": OPERATOR}}
    world.client.create(NAMESPACES, namespace)
    meta = {"name": stand_in.name, "namespace": stand_in.namespace}
    world.client.create(SECRETS, {"metadata": meta, "stringData": other.settings()})
    for _ in range(4):
        world.run(group, operator=operator)
        world.clock.advance(10.0)
    assert world.read(group) is None
    assert writes(other)[0][0] == "DELETE"
    assert writes(world.azure) == []


def test_r8_7_a_secret_that_is_dropped_moves_nothing_to_the_settings(
    world, other, operator
):
    put_secret(world, other)
    group = resource_group()
    world.apply(group)
    run(world, operator, group)
    drop_secret(world)
    other.journal.clear()
    world.apply(resource_group(tags={"edited": "yes"}))
    assert run(world, operator, group)["reason"] == "CredentialError"
    assert writes(other) == writes(world.azure) == []
