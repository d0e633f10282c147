"""`asoreconcile kinds` and `asoctl render` at the command line."""

import json

import pytest
import yaml
from click.testing import CliRunner

from asoreconcile.azure.cmd.kinds import kinds
from asoreconcile.azure.cmd.render import render

SUB = "11111111-1111-1111-1111-111111111111"
GROUP = """apiVersion: resources.azure.com/v1api20200601
kind: ResourceGroup
metadata: {name: rg}
spec: {location: westus}
"""


def run(command, *args, stdin=None, env=None):
    return CliRunner().invoke(
        command, args, input=stdin, env={"AZURE_SUBSCRIPTION_ID": None, **(env or {})}
    )


def test_list_shows_the_served_version_first():
    result = run(kinds, "list", "*/Redis")

    assert result.exit_code == 0
    header, row = result.output.splitlines()
    assert header.split() == ["GROUP", "KIND", "PLURAL", "SCOPE", "VERSIONS"]
    assert row.split()[:5] == [
        "cache.azure.com",
        "Redis",
        "redis",
        "ResourceGroup",
        "v20241101",
    ]


@pytest.mark.parametrize("patterns", [["*/Redis", "*/Vault"], ["*/Redis;*/Vault"]])
def test_several_patterns_are_arguments_or_one_text(patterns):
    listed = json.loads(run(kinds, "list", "-o", "json", *patterns).output)
    printed = [*yaml.safe_load_all(run(kinds, "crd", *patterns).output)]

    assert [kind["kind"] for kind in listed] == ["Redis", "Vault"]
    assert [one["spec"]["names"]["kind"] for one in printed] == ["Redis", "Vault"]


def test_list_as_json_lists_all_kinds():
    listed = json.loads(run(kinds, "list", "-o", "json").output)

    assert len(listed) == 297
    assert sum(len(kind["versions"]) for kind in listed) == 780


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("list", "*/Rediss"), "did you mean cache.azure.com/Redis?"),
        (("list", ";"), "the pattern is empty"),
        (("crd", "cache.azure.con/*"), "did you mean cache.azure.com/*?"),
        (("crd", "*/Redis", "--version", "v1"), "has no version 'v1'"),
        (("show", "Redis"), "did you mean cache.azure.com/Redis?"),
        (("show", "cache.azure.com/Rediss"), "did you mean Redis?"),
        (("show", "cache.azure.com/Redis", "--version", "v20241102"), "did you mean"),
    ],
)
def test_misuse_exits_2_and_names_the_nearest(args, message):
    result = run(kinds, *args)

    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_show_tells_what_is_known_of_a_kind():
    result = run(kinds, "show", "CACHE.azure.com/redis")

    shown = json.loads(result.output)
    assert shown["armType"] == "Microsoft.Cache/redis"
    assert shown["apiVersion"] == "2024-11-01"
    assert shown["owner"] == "resources.azure.com/ResourceGroup"
    assert shown["spec"]["properties"]["subnetReference"]["properties"]["armId"]


def test_crd_prints_a_document_for_each_kind_without_anchors():
    result = run(kinds, "crd", "cache*")

    documents = list(yaml.safe_load_all(result.output))
    assert len(documents) == result.output.count("---\n") == 9
    assert {document["kind"] for document in documents} == {"CustomResourceDefinition"}
    assert "&id" not in result.output


def test_render_prints_yaml_by_default(tmp_path):
    path = tmp_path / "group.yaml"
    path.write_text(GROUP)

    result = run(render, "-f", str(path), "--subscription", SUB)

    assert result.exit_code == 0
    assert yaml.safe_load(result.output) == {
        "method": "PUT",
        "path": f"/subscriptions/{SUB}/resourceGroups/rg",
        "apiVersion": "2020-06-01",
        "body": {"name": "rg", "location": "westus"},
    }


def test_render_prints_json_a_line_for_each_manifest_of_standard_input():
    second = GROUP.replace("rg", "rg2")

    result = run(
        render,
        "-f",
        "-",
        "-o",
        "json",
        stdin=f"{GROUP}---\n{second}",
        env={"AZURE_SUBSCRIPTION_ID": SUB},
    )

    names = [json.loads(line)["body"]["name"] for line in result.output.splitlines()]
    assert names == ["rg", "rg2"]


def test_render_reads_answers_from_a_file(tmp_path):
    answers = tmp_path / "answers.yaml"
    answers.write_text("owner: /subscriptions/s/resourceGroups/g\n")
    vault = """apiVersion: managedidentity.azure.com/v1api20230131
kind: UserAssignedIdentity
metadata: {name: mine}
spec: {owner: {name: g}, location: westus}
"""

    result = run(
        render, "-f", "-", "--resolve", str(answers), "-o", "json", stdin=vault
    )

    assert json.loads(result.output)["path"].startswith(
        "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/"
    )


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        ("a: 1\nb: [1}", "-:2: invalid YAML"),
        (GROUP.replace("ResourceGroup", "ResourceGrup"), "did you mean ResourceGroup?"),
        (GROUP.replace("location", "Location"), "write 'location'"),
        ("", "there is no Azure resource in these manifests"),
    ],
)
def test_render_exits_1_for_manifests_that_are_wrong(stdin, message):
    result = run(render, "-f", "-", "--subscription", SUB, stdin=stdin)

    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stdout == ""


EXPRESSIONS = """apiVersion: resources.azure.com/v1api20200601
kind: ResourceGroup
metadata: {name: rg}
spec:
  location: westus
  operatorSpec:
    configMapExpressions:
    - {name: out, key: id, value: %s}
"""


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("self.status.id", ""),
        (
            "self.status.idd",
            (
                "configMapExpressions[0].value: at 1:12: undefined field 'idd'; did you "
                "mean 'id'?"
            ),
        ),
        ("self.spec.location + 1", "configMapExpressions[0].value: "),
        ("'self.status.id +'", "configMapExpressions[0].value: "),
        ("'{\"a\": self.status.id}'", "configMapExpressions[0].key: remove it"),
    ],
)
def test_render_checks_the_paths_of_expressions_and_their_types(value, message):
    pytest.importorskip("cel_expr_python", reason="the CEL engine is an extra")
    text = EXPRESSIONS % value
    result = run(render, "-f", "-", "--subscription", SUB, stdin=text)
    assert result.exit_code == (1 if message else 0), result.output
    assert f"-:1: ResourceGroup rg: spec.operatorSpec.{message}" in result.stderr or (
        not message
    )
    assert bool(result.stdout) == (not message)


def test_render_exits_1_for_answers_that_are_wrong(tmp_path):
    answers = tmp_path / "answers.json"
    answers.write_text('{"reference": {}}')

    result = run(render, "-f", "-", "--resolve", str(answers), stdin=GROUP)

    assert result.exit_code == 1
    assert "did you mean references?" in result.stderr


def test_render_exits_2_when_called_wrongly(tmp_path):
    assert run(render).exit_code == 2
    assert run(render, "-f", "-", "-o", "toml").exit_code == 2
    absent = str(tmp_path / "absent")
    assert run(render, "-f", "-", "--resolve", absent).exit_code == 2


def test_render_says_what_it_skips():
    web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"

    result = run(render, "-f", "-", "--subscription", SUB, stdin=f"{GROUP}---\n{web}")

    assert result.exit_code == 0
    assert "skipped -:6: Deployment is not an Azure kind" in result.stderr


def test_render_shows_values_of_secrets_on_request_alone():
    server = """apiVersion: dbforpostgresql.azure.com/v1api20221201
kind: FlexibleServer
metadata: {name: shop-db}
spec:
  owner: {armId: /subscriptions/s/resourceGroups/g}
  location: westus
  administratorLogin: admin1
  administratorLoginPassword: {name: db, key: password}
---
apiVersion: v1
kind: Secret
metadata: {name: db}
stringData: {password: canary-7f3e}
"""
    plain = run(render, "-f", "-", "-o", "json", stdin=server)
    shown = run(render, "-f", "-", "-o", "json", "--show-secrets", stdin=server)
    passwords = [
        json.loads(result.output)["body"]["properties"]["administratorLoginPassword"]
        for result in (plain, shown)
    ]
    assert passwords == ["***", "canary-7f3e"]
    assert "canary" not in plain.output + plain.stderr


def test_each_kind_is_served_in_the_version_asked_for():
    """Of several versions each is for the kinds that have it."""
    pattern = "resources.azure.com/ResourceGroup;network.azure.com/VirtualNetwork"
    given = ("--version", "v1api20200601", "--version", "v1api20240301")
    result = run(kinds, "crd", pattern, *given)
    assert result.exit_code == 0, result.output
    served = {
        document["spec"]["names"]["kind"]: [
            v["name"] for v in document["spec"]["versions"]
        ]
        for document in yaml.safe_load_all(result.output)
    }
    assert served == {
        "ResourceGroup": ["v1api20200601"],
        "VirtualNetwork": ["v1api20240301"],
    }
    # A kind without any of them, a version that none has, and two of one kind.
    lacking = run(kinds, "crd", f"{pattern};*/Redis", *given)
    assert (lacking.exit_code, "no version" in lacking.output) == (2, True)
    unknown = run(kinds, "crd", pattern, *given, "--version", "v1api19990101")
    assert (unknown.exit_code, "v1api19990101" in unknown.output) == (2, True)
    two = run(kinds, "crd", "*/VirtualNetwork", *given[2:], "--version", "v20250301")
    assert (two.exit_code, "--webhook-service" in two.output) == (2, True)
