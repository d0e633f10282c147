"""`asoctl plan`: what would change in the simulator's Azure, from files and a cluster."""

import json
from contextlib import closing

import pytest
import yaml
from click.testing import CliRunner
from kubeapi import kube_server

from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.cmd.asoctl import main
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.reconcile.model.annotations import (
    DELETION_PROTECTION,
    FOREIGN_TAGS,
    ON_IMMUTABLE,
)
from asoreconcile.base.objects import GroupKind
from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.http import HttpResponse

VAULT_TENANT = "00000000-0000-0000-0000-000000000001"


@pytest.fixture
def azure(tmp_path, monkeypatch):
    with ArmServer(clock=FakeClock()) as server:
        server.write_ca(tmp_path / "ca.pem")
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "ca.pem"))
        for name, value in server.settings().items():
            monkeypatch.setenv(name, value)
        group = f"/subscriptions/{server.subscription_id}/resourceGroups/rg"
        server.seed(group, {"location": "westeurope", "tags": {"team": "shop"}})
        space = {"addressPrefixes": ["10.0.0.0/16"]}
        server.seed(
            f"{group}/providers/Microsoft.Network/virtualNetworks/net",
            {"location": "West Europe", "properties": {"addressSpace": space}},
        )
        yield server


def group(**spec):
    return {
        "apiVersion": "resources.azure.com/v1api20200601",
        "kind": "ResourceGroup",
        "metadata": {"name": "rg"},
        "spec": {"location": "westeurope", "tags": {"team": "shop"}, **spec},
    }


def network(name="net", **spec):
    return {
        "apiVersion": "network.azure.com/v20250301",
        "kind": "VirtualNetwork",
        "metadata": {"name": name},
        "spec": {
            "owner": {"name": "rg"},
            "location": "westeurope",
            "addressSpace": {"addressPrefixes": ["10.0.0.0/16"]},
            **spec,
        },
    }


def plan(*objs, arguments=()):
    text = yaml.safe_dump_all(objs)
    return CliRunner().invoke(main, ["plan", "-f", "-", *arguments], input=text)


def planned(*objs):
    done = plan(*objs, arguments=["-o", "json"])
    assert done.exit_code in (0, 1, 2), done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_what_azure_has_already_changes_nothing(azure):
    done = plan(group(), network())
    assert done.exit_code == 0, done.output
    assert "Plan: 2 no change" in done.stdout
    assert {exchange.method for exchange in azure.journal} == {"GET"}


def test_a_resource_that_is_not_there_is_created(azure):
    done = plan(group(), network("other"))
    assert done.exit_code == 2
    assert "create          VirtualNetwork default/other" in done.stdout
    assert "Plan: 1 create, 1 no change" in done.stdout


def test_each_change_is_shown_by_field_with_its_rule(azure):
    wider = {"addressPrefixes": ["10.0.0.0/16", "10.1.0.0/16"]}
    _, made = planned(group(), network(addressSpace=wider, tags={"a": "b"}))
    assert made["action"] == "update"
    changes = {change["path"]: change for change in made["changes"]}
    added = changes["properties/addressSpace/addressPrefixes"]
    assert (added["rule"], added["want"]) == ("the list lacks it", "10.1.0.0/16")
    assert changes["tags/a"]["rule"] == "Azure does not have it"
    (made,) = planned(group(tags={"a": "b"}))
    rules = {change["path"]: change["rule"] for change in made["changes"]}
    assert rules == {"tags/a": "Azure does not have it"}
    assert made["kept"] == ["tags/team"]  # a foreign tag: OW-1
    replacing = group(tags={"a": "b"})
    replacing["metadata"]["annotations"] = {FOREIGN_TAGS: "replace"}
    (made,) = planned(replacing)
    assert made["changes"][1]["rule"] == "the map has it and the manifest does not"


def test_another_location_needs_another_resource(azure):
    done = plan(group(), network(location="northeurope"))
    assert done.exit_code == 2
    assert "replace needed" in done.stdout
    assert '"northeurope"' in done.stdout


def test_ow6_a_field_that_azure_does_not_let_change_needs_another_resource(azure):
    group_id = f"/subscriptions/{azure.subscription_id}/resourceGroups/rg"
    azure.seed(
        f"{group_id}/providers/Microsoft.Network/publicIPAddresses/pip",
        {"location": "westeurope", "properties": {"publicIPAddressVersion": "IPv4"}},
    )
    address = {
        "apiVersion": "network.azure.com/v1api20240301",
        "kind": "PublicIPAddress",
        "metadata": {"name": "pip", "namespace": "default"},
        "spec": {
            "location": "westeurope",
            "owner": {"name": "rg"},
            "publicIPAddressVersion": "IPv6",
            "tags": {"a": "b"},
        },
    }
    _, made = planned(group(), address)
    assert made["action"] == "replace needed"
    assert "properties/publicIPAddressVersion" in made["why"]
    changes = {one["path"]: one["rule"] for one in made["changes"]}
    assert changes["properties/publicIPAddressVersion"] == "cannot be changed"
    assert changes["tags/a"] == "Azure does not have it"
    assert "delete it, or mend the manifest" in made["why"]
    address["metadata"]["annotations"] = {ON_IMMUTABLE: "recreate"}
    _, made = planned(group(), address)
    assert "the operator deletes the resource and makes it again" in made["why"]
    address["metadata"]["annotations"][DELETION_PROTECTION] = "true"
    _, made = planned(group(), address)
    assert "deletion protection keeps PublicIPAddress default/pip" in made["why"]


def test_ow6_a_plan_names_the_children_that_stand_against_a_recreation(azure):
    group_id = f"/subscriptions/{azure.subscription_id}/resourceGroups/rg"
    subnets = f"{group_id}/providers/Microsoft.Network/virtualNetworks/net/subnets"
    for name in ("theirs", "ours"):
        azure.seed(
            f"{subnets}/{name}", {"properties": {"addressPrefix": "10.0.1.0/24"}}
        )
    moved = network(location="northeurope")
    moved["metadata"]["annotations"] = {ON_IMMUTABLE: "recreate"}
    ours = {
        "apiVersion": "network.azure.com/v20250301",
        "kind": "VirtualNetworksSubnet",
        "metadata": {"name": "ours"},
        "spec": {"owner": {"name": "net"}, "addressPrefix": "10.0.1.0/24"},
    }
    _, made, _ = planned(group(), moved, ours)
    _, _, named = made["why"].partition("it would be lost with it: ")
    assert named == f"{subnets}/theirs (no object of this cluster declares it)"


def test_what_azure_never_shows_is_not_compared_and_said(azure):
    arm_id = f"/subscriptions/{azure.subscription_id}/resourceGroups/rg/providers"
    properties = {"tenantId": VAULT_TENANT, "sku": {"family": "A", "name": "standard"}}
    azure.seed(
        f"{arm_id}/Microsoft.KeyVault/vaults/shop",
        {"location": "westeurope", "properties": properties},
    )
    vault = {
        "apiVersion": "keyvault.azure.com/v1api20230701",
        "kind": "Vault",
        "metadata": {"name": "shop"},
        "spec": {
            "owner": {"name": "rg"},
            "location": "westeurope",
            "properties": {**properties, "createMode": "default"},
        },
    }
    _, made = planned(group(), vault)
    shown = {"no change": ["properties/createMode"], "update": []}
    assert made["writeOnly"] == shown[made["action"]]


def test_an_object_that_is_only_to_be_looked_at_is_not_read(azure):
    skipped = network()
    skipped["metadata"]["annotations"] = {
        "serviceoperator.azure.com/reconcile-policy": "skip"
    }
    _, made = planned(group(), skipped)
    assert (made["action"], made["why"]) == (
        "no change",
        "the reconcile policy of the object is skip",
    )


def test_ow3_an_object_that_observes_needs_no_more_than_its_id(azure):
    seen = network()
    seen["metadata"]["annotations"] = {"asoreconcile/if-exists": "observe"}
    del seen["spec"]["location"]
    _, made = planned(group(), seen)
    assert (made["action"], made["why"]) == ("no change", "the object only observes")


def test_the_policy_of_a_namespace_counts_too(azure):
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": "default",
            "annotations": {"serviceoperator.azure.com/reconcile-policy": "skip"},
        },
    }
    managed = network("other")
    managed["metadata"]["annotations"] = {
        "serviceoperator.azure.com/reconcile-policy": "manage"
    }
    first, second = planned(namespace, group(tags={"a": "b"}), managed)
    assert first["why"] == "the reconcile policy of the namespace is skip"
    assert second["action"] == "create"


def test_children_that_a_put_carries_are_in_the_body_and_no_change(azure):
    """As the operator sends it: without them Azure would delete the subnets."""
    net = next(i for i in azure.resources() if "virtualnetworks" in i.lower())
    subnet = {"properties": {"addressPrefix": "10.0.1.0/24"}}
    azure.seed(f"{net}/subnets/web", subnet)
    _, made = planned(group(), network())
    assert made["action"] == "no change"
    (sent,) = made["sent"]["properties"]["subnets"]
    assert sent["name"] == "web"
    assert made["found"]["name"] == "net"


def test_what_the_operator_would_do_first_is_said_and_not_done(azure):
    deleted = (
        f"/subscriptions/{azure.subscription_id}/providers/Microsoft.KeyVault"
        "/locations/westeurope/deletedVaults/shop"
    )
    arm_id = f"/subscriptions/{azure.subscription_id}/resourceGroups/rg/providers"
    azure.seed(f"{arm_id}/Microsoft.KeyVault/vaults/shop", {"location": "westeurope"})
    with closing(azure.session()) as session:
        session.delete(f"{arm_id}/Microsoft.KeyVault/vaults/shop")
    azure.journal.clear()

    def vault(mode):
        return {
            "apiVersion": "keyvault.azure.com/v1api20230701",
            "kind": "Vault",
            "metadata": {"name": "shop"},
            "spec": {
                "owner": {"name": "rg"},
                "location": "westeurope",
                "properties": {
                    "tenantId": VAULT_TENANT,
                    "sku": {"family": "A", "name": "standard"},
                    "createMode": mode,
                },
            },
        }

    _, made = planned(group(), vault("purgeThenCreate"))
    assert made["action"] == "cannot tell"
    assert made["why"] == f"the operator would POST {deleted}/purge first"
    _, recovered = planned(group(), vault("createOrRecover"))
    assert recovered["sent"]["properties"]["createMode"] == "recover"
    assert {exchange.method for exchange in azure.journal} == {"GET"}


def test_an_owner_that_is_missing_is_named(azure):
    azure.remove(next(i for i in azure.resources() if i.endswith("/rg")))
    owned = network()
    made = {one["name"]: one for one in planned(group(), owned)}
    assert made["rg"]["owner"] == ""
    assert made["net"]["owner"] == "ResourceGroup default/rg"
    assert made["net"]["why"].endswith("its owner ResourceGroup default/rg comes first")
    gone = f"/subscriptions/{azure.subscription_id}/resourceGroups/gone"
    (alone,) = planned(network(owner={"armId": gone}))
    assert f"nor its owner {gone}, which is not among these" in alone["why"]


def test_a_throttled_plan_waits_and_says_so(azure):
    body = {"error": {"code": "TooManyRequests", "message": "slow"}}
    azure.faults.answer(
        "GET",
        "/virtualNetworks/",
        429,
        headers={"Retry-After": "2"},
        body=body,
        times=1,
    )
    done = plan(group(), network())
    assert done.exit_code == 0, done.output
    assert "waiting 2 s" in done.stderr


def test_a_read_never_brings_a_registration_about(azure):
    code = "MissingSubscriptionRegistration"
    message = "The subscription is not registered to use namespace 'Microsoft.Network'"
    body = {"error": {"code": code, "message": message}}
    azure.faults.answer("GET", "/virtualNetworks/", 409, body=body, times=9)
    _, made = planned(group(), network())
    assert made["action"] == "cannot tell"
    assert code in made["why"]
    assert {exchange.method for exchange in azure.journal} == {"GET"}


def test_what_nobody_can_tell_is_said_with_the_reason(azure):
    done = plan(network())
    assert done.exit_code == 1
    assert "cannot tell" in done.stdout
    assert "ResourceGroup 'rg' is not among the manifests" in done.stdout
    body = {"error": {"code": "AuthorizationFailed", "message": "no"}}
    azure.faults.answer("GET", "/virtualNetworks/", 403, body=body)
    _, made = planned(group(), network())
    assert made["action"] == "cannot tell"
    assert made["why"] == "403 AuthorizationFailed: no"


@pytest.mark.parametrize("body", ["{}", '{"value":[]}', "null"])
def test_an_answer_that_shows_nothing_is_no_plan(azure, body):
    azure.faults.respond("GET", "/virtualNetworks/", HttpResponse(200, body.encode()))
    _, made = planned(group(), network())
    assert made["action"] == "cannot tell"
    assert "see whether a proxy answers" in made["why"]


def test_values_of_secrets_are_neither_needed_nor_shown(azure):
    server = {
        "apiVersion": "dbforpostgresql.azure.com/v20250801",
        "kind": "FlexibleServer",
        "metadata": {"name": "db"},
        "spec": {
            "owner": {"name": "rg"},
            "location": "westeurope",
            "administratorLogin": "me",
            "administratorLoginPassword": {"name": "nowhere", "key": "password"},
        },
    }
    _, made = planned(group(), server)
    assert made["action"] == "create"
    arm_id = made["armId"]
    azure.seed(
        arm_id,
        {"location": "westeurope", "properties": {"administratorLogin": "you"}},
    )
    _, made = planned(group(), server)
    assert [c["path"] for c in made["changes"]] == ["properties/administratorLogin"]
    assert made["sent"]["properties"]["administratorLoginPassword"] == "***"


def test_what_azure_shows_of_a_secret_is_not_shown(azure):
    """Azure's own list has an entry more, with a value that the kind takes from one."""
    arm_id = (
        f"/subscriptions/{azure.subscription_id}/resourceGroups/rg/providers"
        "/Microsoft.App/containerApps/web"
    )
    secrets = [{"name": "a", "value": "hunter2"}, {"name": "b", "value": "hunter3"}]
    azure.seed(
        arm_id,
        {
            "location": "westeurope",
            "properties": {"configuration": {"secrets": secrets}},
        },
    )
    app = {
        "apiVersion": "app.azure.com/v1api20240301",
        "kind": "ContainerApp",
        "metadata": {"name": "web"},
        "spec": {
            "owner": {"name": "rg"},
            "location": "westeurope",
            "configuration": {
                "secrets": [{"name": "a", "value": {"name": "s", "key": "a"}}]
            },
        },
    }
    done = plan(group(), app, arguments=["-o", "json"])
    made = json.loads(done.stdout.splitlines()[-1])
    (extra,) = [c for c in made["changes"] if c["rule"].startswith("the list has it")]
    assert extra["have"] == {"name": "b", "value": "***"}
    assert "hunter" not in done.stdout
    assert "hunter" not in plan(group(), app).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "use either --filename or --cluster"),
        (["--cluster", "-f", "-"], "use either --filename or --cluster"),
    ],
)
def test_a_wrong_call_says_what_to_write(arguments, message):
    done = CliRunner().invoke(main, ["plan", *arguments], input="")
    assert done.exit_code == 2
    assert message in done.stderr


def test_no_azure_resource_is_an_error(azure):
    done = plan({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}})
    assert done.exit_code == 1
    assert "no Azure resource" in done.stderr


def test_the_objects_of_a_cluster_are_planned(azure, tmp_path, monkeypatch):
    with kube_server() as (kube, client):
        kube.write_kubeconfig(tmp_path / "kubeconfig")
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        paths = {}
        labelled = network("other")
        labelled["metadata"]["labels"] = {"team": "shop"}
        for obj in (group(), labelled):
            api_group, _, version = obj["apiVersion"].partition("/")
            kind = builtin().kind(GroupKind(api_group, obj["kind"]))
            client.post(
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                crd(kind, versions=[version]),
            ).expect(201)
            paths[kind] = f"/apis/{obj['apiVersion']}/namespaces/default/{kind.plural}"
            client.post(paths[kind], obj).expect(201)
        done = CliRunner().invoke(main, ["plan", "--cluster"])
        assert done.exit_code == 2, done.output
        assert "Plan: 1 create, 1 no change" in done.stdout
        for chosen, said in (
            (["-A", "-l", "team=shop"], "Plan: 1 create\n"),
            (["-n", "default"], "Plan: 1 create, 1 no change\n"),
        ):
            done = CliRunner().invoke(main, ["plan", "--cluster", *chosen])
            assert done.stdout.endswith(said), done.output
        drawn = CliRunner().invoke(main, ["graph", "--cluster", "-l", "team=shop"])
        assert "other" in drawn.stdout, drawn.output
        none = CliRunner().invoke(main, ["plan", "--cluster", "-n", "elsewhere"])
        assert "no Azure object in namespace 'elsewhere'" in none.stderr
        for words in (["plan", "--cluster"], ["graph", "--cluster"], ["explain", "-A"]):
            none = CliRunner().invoke(main, [*words, "-l", "team=none"])
            said = "no Azure object that matches the selector 'team=none' in any"
            assert said in none.output
            assert "Plan:" not in none.stdout


def test_a_server_that_is_away_is_told_with_what_to_look_at(tmp_path):
    kubeconfig = tmp_path / "kubeconfig"
    with kube_server() as (kube, _):
        kube.write_kubeconfig(kubeconfig)
    arguments = ["plan", "--cluster", "--kubeconfig", str(kubeconfig)]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 1
    assert "cannot connect" in done.stderr
    assert "look whether the API server https://" in done.stderr
