"""`asoreconcile extensions list`."""

import json

import pytest
from click.testing import CliRunner

from asoreconcile.azure.cmd.extensions import extensions


def run(*arguments):
    result = CliRunner().invoke(extensions, ["list", *arguments])
    assert not isinstance(result.exception, Exception), result.exception
    return result


def test_json_has_every_chain_with_its_links_in_order():
    chains = json.loads(run("-o", "json").stdout)
    clusters = [one for one in chains if one["kind"] == "ManagedCluster"]
    assert {one["point"] for one in clusters} == {
        "pre-reconcile",
        "classify-error",
        "export-secrets",
    }
    (export,) = [one for one in clusters if one["point"] == "export-secrets"]
    assert [link["name"] for link in export["links"]] == [
        "export_keys(listClusterAdminCredential)",
        "export_keys(listClusterUserCredential)",
    ]
    (first, _) = export["links"]
    assert first["set"] == "containerservice.ManagedCluster"
    module, line = first["defined"].split(":")
    assert module == "asoreconcile.azure.extensions.containerservice.managed_cluster"
    assert int(line) > 1


def test_a_table_is_the_default_and_a_pattern_narrows_it():
    lines = run("*/vault").stdout.splitlines()
    assert lines[0].split() == ["KIND", "POINT", "SET", "LINK", "DEFINED"]
    assert len(lines) == 2
    assert "Vault.keyvault.azure.com" in lines[1]


def test_a_kind_without_extensions_has_an_empty_list():
    assert json.loads(run("*/ResourceGroup", "-o", "json").stdout) == []


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["*/Valut"], 2, "no kind matches"),
        (["--extensions", "frost"], 1, "'frost'"),
        (["-o", "yaml"], 2, "yaml"),
    ],
    ids=["pattern", "set", "output"],
)
def test_bad_input_is_told_apart_from_failure(arguments, status, message):
    result = run(*arguments)
    assert result.exit_code == status
    assert message in result.stderr
