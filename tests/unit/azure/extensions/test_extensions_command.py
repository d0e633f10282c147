"""`asoreconcile extensions list`."""

import json
from collections import Counter

import pytest
from click.testing import CliRunner

from asoreconcile.azure.cmd import extensions as listing
from asoreconcile.azure.cmd.asoctl import main
from asoreconcile.azure.cmd.extensions import extensions
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.middleware.extension_points import DELETE, MODIFY_PAYLOAD
from asoreconcile.azure.middleware.extension_set import (
    ANY_ARM_KIND,
    ANY_KIND,
    ExtensionSet,
)


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
    assert len(lines) == 3
    assert "Vault.keyvault.azure.com" in lines[1]
    assert " ".join(lines[2].split()[1:]) == (
        "modify-payload - send the body as it is -"
    )


def test_a_link_for_any_kind_is_listed_where_it_runs(monkeypatch):
    """Users of databases and groups of Entra run it too, and only the points that
    they have.
    """
    freeze = ExtensionSet("freeze")
    freeze.on(DELETE, ANY_KIND)(lambda req, call_next: call_next(req))
    freeze.on(MODIFY_PAYLOAD, ANY_ARM_KIND)(lambda req, call_next: call_next(req))
    monkeypatch.setattr(listing, "load_sets", lambda _: [freeze])
    done = CliRunner().invoke(main, ["extensions", "list", "-o", "json"])
    reached = Counter(
        row["point"]
        for row in json.loads(done.stdout)
        if row["links"][0]["set"] == "freeze"
    )
    kinds = list(builtin().kinds())
    on_arm = sum(kind.is_arm for kind in kinds)
    assert reached == {"delete": len(kinds), "modify-payload": on_arm}
    assert on_arm < len(kinds)


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
