"""From manifests to requests."""

import pytest

from asoreconcile.azure.catalogue.manifests import parse_manifests
from asoreconcile.azure.catalogue.render import RenderError, render
from asoreconcile.azure.catalogue.resolution import ResolutionError, answers_of
from asoreconcile.azure.controllers.catalogue import builtin

SUB = "11111111-1111-1111-1111-111111111111"
GROUP = """
apiVersion: resources.azure.com/v1api20200601
kind: ResourceGroup
metadata: {name: rg}
spec: {location: westus}
"""
VNET = """
apiVersion: network.azure.com/v1api20240301
kind: VirtualNetwork
metadata: {name: vnet}
spec:
  owner: {name: rg}
  location: westus
  addressSpace: {addressPrefixes: [10.0.0.0/16]}
"""
SUBNET = """
apiVersion: network.azure.com/v1api20240301
kind: VirtualNetworksSubnet
metadata: {name: subnet}
spec:
  owner: {name: vnet}
  addressPrefix: 10.0.0.0/24
"""
API = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.ApiManagement/service/a"
KEYED = f"""
apiVersion: apimanagement.azure.com/v1api20220801
kind: Subscription
metadata: {{name: sub}}
spec:
  owner: {{armId: {API}}}
  displayName: sub
  scope: /apis
  primaryKey: {{name: values, key: word}}
"""
SECRET = """
apiVersion: v1
kind: Secret
metadata: {name: values}
data: {word: aHVzaA==}
stringData: {other: plain}
"""


def rendered(*texts, answers=None, subscription_id=SUB, show_secrets=True):
    manifests = parse_manifests("---".join(texts), path="f.yaml")
    return render(
        builtin(),
        manifests,
        answers=None if answers is None else answers_of(answers),
        subscription_id=subscription_id,
        show_secrets=show_secrets,
    )


def problems(*texts, **options):
    with pytest.raises(RenderError) as error:
        rendered(*texts, **options)
    return error.value.problems


def test_owners_are_found_among_the_manifests_whatever_their_order():
    requests = rendered(SUBNET, VNET, GROUP).requests

    group = f"/subscriptions/{SUB}/resourceGroups/rg"
    vnet = f"{group}/providers/Microsoft.Network/virtualNetworks/vnet"
    assert [r.path for r in requests] == [f"{vnet}/subnets/subnet", vnet, group]
    assert [r.api_version for r in requests] == [
        "2024-03-01",
        "2024-03-01",
        "2020-06-01",
    ]
    assert requests[0].to_json() == {
        "method": "PUT",
        "path": f"{vnet}/subnets/subnet",
        "apiVersion": "2024-03-01",
        "body": {"name": "subnet", "properties": {"addressPrefix": "10.0.0.0/24"}},
    }


def test_the_owner_answer_is_used_unless_a_manifest_is_the_owner():
    answers = {"owner": "/subscriptions/o/resourceGroups/given"}

    subnet, vnet = rendered(SUBNET, VNET, answers=answers).requests

    assert vnet.path.startswith("/subscriptions/o/resourceGroups/given/providers/")
    assert subnet.path == f"{vnet.path}/subnets/subnet"


def test_owners_are_found_among_the_reference_answers():
    answers = {
        "references": {
            "resources.azure.com/ResourceGroup/rg": "/subscriptions/r/resourceGroups/x"
        }
    }

    (vnet,) = rendered(VNET, answers=answers).requests

    assert vnet.path.startswith("/subscriptions/r/resourceGroups/x/providers/")


def test_references_resolve_to_manifests_of_the_same_namespace():
    nat = """
apiVersion: network.azure.com/v1api20240301
kind: NatGateway
metadata: {name: nat%s}
spec: {owner: {name: rg}, location: westus, sku: {name: Standard}}
"""
    subnet = SUBNET + (
        "  natGateway: {reference: "
        "{group: network.azure.com, kind: NatGateway, name: nat}}\n"
    )

    body = rendered(subnet, VNET, GROUP, nat % "").requests[0].body

    assert body["properties"]["natGateway"]["id"].endswith("/natGateways/nat")
    (text,) = problems(subnet, VNET, GROUP, nat % ", namespace: elsewhere, x: y")[:1]
    assert "NatGateway 'nat' is in namespace 'elsewhere'" in text


def test_secrets_and_config_maps_come_from_manifests():
    (request,) = rendered(KEYED, SECRET).requests
    assert request.body["properties"]["primaryKey"] == "hush"

    other = KEYED.replace("key: word", "key: other")
    (request,) = rendered(other, SECRET).requests
    assert request.body["properties"]["primaryKey"] == "plain"


@pytest.mark.parametrize("answers", [None, {"secrets": {"values/word": "given"}}])
def test_values_of_secrets_are_shown_on_request_alone(answers):
    (request,) = rendered(KEYED, SECRET, answers=answers, show_secrets=False).requests
    assert request.body["properties"]["primaryKey"] == "***"
    (text,) = problems(KEYED.replace("word", "gone"), SECRET, show_secrets=False)
    assert "has no key 'gone'" in text


def test_answers_beat_manifests_for_secrets():
    answers = {"secrets": {"values/word": "given"}}

    (request,) = rendered(KEYED, SECRET, answers=answers).requests

    assert request.body["properties"]["primaryKey"] == "given"


def test_a_name_from_a_config_map():
    administrator = """
apiVersion: dbforpostgresql.azure.com/v20250801
kind: FlexibleServersAdministrator
metadata: {name: admin}
spec:
  owner: {name: server}
  azureNameFromConfig: {name: cm, key: who}
"""
    config = """
apiVersion: v1
kind: ConfigMap
metadata: {name: cm}
data: {who: someone}
"""

    (request,) = rendered(
        administrator, config, answers={"owner": "/subscriptions/s/x"}
    ).requests

    assert request.path.endswith("/administrators/someone")
    assert request.body["name"] == "someone"


def test_what_is_not_azures_is_skipped():
    web = "\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"

    result = rendered(GROUP, web)

    assert [manifest.where for manifest in result.skipped] == ["f.yaml:7"]
    assert len(result.requests) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            VNET.replace("VirtualNetwork", "VirtualNetwrk"),
            (
                "f.yaml:2: VirtualNetwrk vnet: group network.azure.com has no kind"
                " 'VirtualNetwrk'; did you mean VirtualNetwork?"
            ),
        ),
        (
            VNET.replace("v1api20240301", "v1api20240302"),
            "has no version 'v1api20240302'; did you mean v1api20240301?",
        ),
        (
            VNET.replace("network.azure", "netwrk.azure"),
            "no group 'netwrk.azure.com' is known; did you mean network.azure.com?",
        ),
        (
            VNET.replace("addressSpace", "AddressSpace"),
            "spec.AddressSpace: unknown field, differs in letter case only",
        ),
        (
            VNET,
            (
                "spec.owner: ResourceGroup 'rg' is not among the manifests: add it, or give"
                " its ARM id under references in the --resolve file as"
                " 'resources.azure.com/ResourceGroup/rg'"
            ),
        ),
        (
            KEYED,
            (
                "spec.primaryKey: Secret 'values' is not among the manifests: add it, or give"
                " the value under secrets in the --resolve file as 'values/word'"
            ),
        ),
    ],
)
def test_problems_say_where_and_what_to_do(text, message):
    assert any(message in problem for problem in problems(text))


def test_a_missing_key_names_the_nearest():
    (text,) = problems(KEYED.replace("key: word", "key: wrod"), SECRET)

    assert text.endswith(
        "Secret 'values' has no key 'wrod'; did you mean word? (it has other, word)"
    )


NOTE = "metadata:\n  annotations: {serviceoperator.azure.com/%s}\n  name: vnet"


def noted(note):
    return VNET.replace("metadata: {name: vnet}", NOTE % note)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (noted("credential-from: team"),
         "credential-from: Secret 'team' is not among the manifests"),
        (VNET.replace("name: vnet", "name: My_Net"),
         "metadata.name: 'My_Net' is no name that Kubernetes takes"),
        (VNET.replace("name: vnet", "name: vnet, namespace: Shop_1"),
         "metadata.namespace: 'Shop_1' is no namespace that Kubernetes takes"),
        (VNET.replace("name: rg", "name: vnet"),
         "'vnet' is not among the manifests ('vnet' is a VirtualNetwork)"),
        (
            SUBNET + "  natGateway: {reference: {group: network.azure.com, "
            "kind: NatGatewya, name: nat}}\n",
            "natGateway.reference: group network.azure.com has no kind 'NatGatewya'",
        ),
    ],
)  # fmt: skip
def test_what_manifests_show_to_be_wrong_is_said(text, said):
    rest = [GROUP] if text is not SUBNET else [GROUP, VNET]
    assert any(said in found for found in problems(text, *rest)), problems(text, *rest)


def test_a_name_that_is_the_azure_name_too_keeps_azures_rules():
    account = """
apiVersion: storage.azure.com/v1api20230101
kind: StorageAccount
metadata: {name: shop-orders}
spec:
  owner: {name: rg}
  location: westus
  kind: StorageV2
  sku: {name: Standard_LRS}
"""
    (text,) = problems(account, GROUP)
    assert "metadata.name: is the Azure name too" in text
    assert rendered(account + "  azureName: shoporders\n", GROUP).requests


def test_a_credential_among_the_manifests_or_the_answers_is_found():
    secret = SECRET.replace("name: values", "name: team")
    assert rendered(noted("credential-from: team"), GROUP, secret).requests
    answers = {"secretMaps": {"team/*": {}}}
    assert rendered(noted("credential-from: team"), GROUP, answers=answers).requests


def test_a_resource_group_needs_a_subscription():
    (text,) = problems(GROUP, subscription_id="")

    assert text.endswith("give --subscription")


def test_owners_in_a_circle_are_an_error():
    one = """
apiVersion: insights.azure.com/v1api20210501preview
kind: DiagnosticSetting
metadata: {name: %s}
spec: {owner: {group: insights.azure.com, kind: DiagnosticSetting, name: %s}}
"""
    texts = problems(one % ("a", "b"), one % ("b", "a"))

    assert all("owners in a circle" in text for text in texts)


def test_problems_of_all_manifests_come_at_once_and_once_each():
    twice = KEYED.replace("displayName: sub", "displayname: sub")

    texts = problems(
        VNET.replace("location", "locaton"), twice, GROUP.replace("location", "locaton")
    )

    assert {text.partition(": ")[2].partition(":")[0] for text in texts} == {
        "VirtualNetwork vnet",
        "Subscription sub",
        "ResourceGroup rg",
    }
    assert len(texts) == len(set(texts))


def test_a_secret_value_is_never_part_of_a_message():
    bad = SECRET.replace("aHVzaA==", "not-base64!")

    (text,) = problems(KEYED, bad)

    assert "not-base64" not in text
    assert "stringData" in text


def test_manifests_are_not_changed():
    manifests = parse_manifests(GROUP)
    before = repr(manifests)

    render(builtin(), manifests, subscription_id=SUB)

    assert repr(manifests) == before


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "must be an object with owner, references"),
        ({"secret": {}}, "unknown member 'secret'; did you mean secrets?"),
        ({"owner": {}}, "owner must be an ARM id"),
        ({"secrets": []}, "secrets must be a map of name/key to text"),
        ({"secrets": {"a/b": 1}}, "secrets, 'a/b': must be"),
        ({"secretMaps": {"a/*": "x"}}, "secretMaps, 'a/*': must be"),
    ],
)
def test_answers_of_the_wrong_form_are_refused(value, message):
    with pytest.raises(ResolutionError) as error:
        answers_of(value)

    assert str(error.value).startswith(message)


def test_secret_answers_stay_out_of_reprs():
    answers = answers_of(
        {"secrets": {"a/b": "hush"}, "secretMaps": {"a/*": {"k": "x!"}}}
    )

    assert "hush" not in repr(answers)
    assert "x!" not in repr(answers)


def test_two_objects_of_one_resource_are_named():
    other = VNET.replace("{name: vnet}", "{name: other}").replace(
        "spec:", "spec:\n  azureName: VNET"
    )
    (text,) = problems(GROUP, VNET, other)
    assert "VirtualNetwork other: stands for the same Azure resource" in text
    assert "VirtualNetwork vnet" in text
    # What only reads stands beside it, and the same object twice is one.
    note = (
        "metadata:\n  annotations: {serviceoperator.azure.com/reconcile-policy: skip}"
    )
    reading = other.replace("metadata: {name: other}", f"{note}\n  name: other")
    assert len(rendered(GROUP, VNET, reading).requests) == 3
    assert len(rendered(GROUP, VNET, VNET).requests) == 3
