"""`asoctl convert`, and `asoreconcile kinds crd` for several versions."""

import base64

import pytest
import yaml
from click.testing import CliRunner

from asoreconcile.azure.catalogue.conversion import CONVERSION_DATA
from asoreconcile.azure.cmd.asoctl import main
from asoreconcile.azure.cmd.kinds import kinds

SERVER = """
apiVersion: dbformysql.azure.com/v20241230
kind: FlexibleServer
metadata: {name: db}
spec:
  owner: {name: rg}
  sourceServerResourceReference:
    {group: dbformysql.azure.com, kind: FlexibleServer, name: x}
"""
ASSIGNMENT = """
apiVersion: authorization.azure.com/v1api20220401
kind: RoleAssignment
metadata: {name: myroleassignment, namespace: default}
spec:
  owner:
    armId: /subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/myrg
"""
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"


def convert(text, *arguments):
    return CliRunner().invoke(main, ["convert", "-f", "-", *arguments], input=text)


def documents(result):
    assert result.exit_code == 0, result.output
    return list(yaml.safe_load_all(result.stdout))


def test_a_manifest_is_printed_in_the_newest_version_and_others_as_they_are():
    made, secret = documents(convert(f"{SERVER}---\n{SECRET}", "--to", "newest"))

    assert made == yaml.safe_load(SERVER)
    assert secret == yaml.safe_load(SECRET)


def test_a_field_that_no_version_of_the_author_has_is_refused():
    text = SERVER.replace("  sourceServer", "  storag: {}\n  sourceServer")
    result = convert(f"{text}---\n{SECRET}", "--to", "newest")

    assert (result.exit_code, result.stdout) == (1, "")
    assert "FlexibleServer db: spec.storag: unknown field; did you" in result.stderr


def test_what_a_version_does_not_know_is_named_and_kept():
    result = convert(SERVER, "--to", "v1api20210501")

    (made,) = documents(result)
    assert made["spec"] == {"owner": {"name": "rg"}}
    assert "v1api20210501 has no spec.sourceServerResourceReference" in result.stderr
    assert [*made["metadata"]["annotations"]] == [CONVERSION_DATA]
    (back,) = documents(convert(result.stdout, "--to", "v20241230"))
    assert back == yaml.safe_load(SERVER)


@pytest.mark.parametrize("stated", ["", "  azureName: ''\n", "  azureName: null\n"])
def test_the_azure_name_does_not_change_with_the_version(stated):
    """The seed of the UUID differs between v1api versions and others."""
    (made,) = documents(convert(ASSIGNMENT + stated, "--to", "v20220401"))

    assert made["spec"] == {
        "azureName": "aa84af1c-81f2-5a62-b3b4-155c829e36c4",
        **yaml.safe_load(ASSIGNMENT)["spec"],
    }


@pytest.mark.parametrize(
    ("text", "to", "expected"),
    [
        (SERVER, "v20241231", "did you mean v20241230?"),
        ("{}: {}", "newest", "-:1:"),
        (
            ASSIGNMENT.replace(", namespace: default", ""),
            "newest",
            "v20220401 would give it another Azure name: set metadata.namespace",
        ),
    ],
    ids=["version", "yaml", "name"],
)
def test_what_cannot_be_converted_is_said_and_nothing_printed(text, to, expected):
    result = convert(text, "--to", to)

    assert result.exit_code == 1
    assert expected in result.stderr
    assert result.stdout == ""


# CRDs of several versions


def crd(*arguments):
    return CliRunner().invoke(kinds, ["crd", *arguments])


def test_all_versions_with_a_converting_service(tmp_path):
    ca = tmp_path / "ca.pem"
    ca.write_text("PEM")

    result = crd(
        "network.azure.com/VirtualNetwork",
        "--all-versions",
        "--webhook-service=system/operator",
        f"--webhook-ca={ca}",
    )

    (made,) = documents(result)
    assert [(v["name"], v["storage"]) for v in made["spec"]["versions"]] == [
        ("v1api20201101", False),
        ("v1api20240301", False),
        ("v20250301", False),
        ("v20250301storage", True),
    ]
    webhook = made["spec"]["conversion"]["webhook"]
    assert made["spec"]["conversion"]["strategy"] == "Webhook"
    assert webhook["conversionReviewVersions"] == ["v1"]
    assert webhook["clientConfig"] == {
        "service": {
            "namespace": "system",
            "name": "operator",
            "path": "/convert",
            "port": 443,
        },
        "caBundle": base64.b64encode(b"PEM").decode(),
    }


def test_a_converter_by_address():
    url = "https://127.0.0.1:9443"

    (made,) = documents(crd("*/VirtualNetwork", "--webhook-url", url))

    assert made["spec"]["conversion"]["webhook"]["clientConfig"] == {
        "url": f"{url}/convert"
    }
    assert [v["name"] for v in made["spec"]["versions"]] == [
        "v20250301",
        "v20250301storage",
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--all-versions"], "several versions of a kind need"),
        (
            ["--version=v20250301", "--version=v1api20240301"],
            "several versions of a kind need",
        ),
        (["--webhook-service=operator"], "not of the form NAMESPACE/NAME"),
    ],
    ids=["all", "two", "service"],
)
def test_bad_usage_is_said(arguments, expected):
    result = crd("*/VirtualNetwork", *arguments)

    assert result.exit_code == 2
    assert expected in result.stderr


def test_rules_are_part_of_a_definition_unless_left_out():
    with_rules, without = (
        documents(crd("*/VirtualNetwork", *flags))[0]["spec"]["versions"][0]["schema"]
        for flags in ((), ("--no-rules",))
    )

    assert "x-kubernetes-validations" in with_rules["openAPIV3Schema"]
    assert "x-kubernetes-validations" not in without["openAPIV3Schema"]


def test_admission_is_configured_for_what_users_write():
    """Neither for stored forms nor for the status: operators write those."""
    url = "https://127.0.0.1:9443"
    arguments = [
        "webhooks",
        "network.azure.com/NatG*;*/VirtualNetworkGateway",
        "--webhook-url",
        url,
    ]

    mutating, validating = documents(CliRunner().invoke(kinds, arguments))

    assert [mutating["kind"], validating["kind"]] == [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ]
    webhook, deletions, stored = validating["webhooks"]
    assert stored["clientConfig"] == webhook["clientConfig"]
    assert stored["failurePolicy"] == "Fail"
    assert all(v.endswith("storage") for v in stored["rules"][0]["apiVersions"])
    assert "object.spec" in stored["matchConditions"][0]["expression"]
    assert webhook["clientConfig"] == {"url": f"{url}/validate"}
    assert deletions["clientConfig"] == webhook["clientConfig"]
    assert deletions["failurePolicy"] == "Ignore"
    (rule,) = deletions["rules"]
    assert rule["apiGroups"] == ["network.azure.com"]
    assert rule["operations"] == ["DELETE"]
    assert webhook["failurePolicy"] == "Fail"
    (rule,) = webhook["rules"]
    assert rule["apiGroups"] == ["network.azure.com"]
    assert rule["resources"] == ["natgateways", "virtualnetworkgateways"]
    assert rule["operations"] == ["CREATE", "UPDATE"]
    assert "v20250301" in rule["apiVersions"]
    assert not any(v.endswith("storage") for v in rule["apiVersions"])


def test_admission_without_an_address_is_bad_usage():
    result = CliRunner().invoke(kinds, ["webhooks", "*/VirtualNetwork"])

    assert result.exit_code == 2
    assert "--webhook-service or --webhook-url" in result.stderr


def test_a_secret_in_a_manifest_is_moved_to_a_secret():
    text = """
apiVersion: containerservice.azure.com/v1api20240901
kind: ManagedCluster
metadata: {name: c, namespace: ns}
spec: {aadProfile: {serverAppSecret: hush}}
"""
    for to in ("newest", "v1api20240901"):
        secret, made = documents(convert(text, "--to", to))

        named = made["spec"]["aadProfile"]["serverAppSecret"]
        assert named == {"name": secret["metadata"]["name"], "key": "serverAppSecret"}
        assert secret["stringData"] == {"serverAppSecret": "hush"}
        assert secret["metadata"]["namespace"] == "ns"
