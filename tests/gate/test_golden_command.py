"""hack/golden: pairs of one's own, compared as far as they say enough."""

import json
import sys
from pathlib import Path

import golden
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def compare(tmp_path, monkeypatch, capsys):
    """Run the command over a folder of pairs; (exit code, what it printed)."""
    monkeypatch.setenv("ASORECONCILE_DATA", str(tmp_path / "none"))
    folder = tmp_path / "pairs"
    folder.mkdir()

    def run(**pairs):
        for name, pair in pairs.items():
            (folder / f"{name}.json").write_text(json.dumps(pair))
        monkeypatch.setattr(sys, "argv", ["hack/golden", str(folder)])
        code = golden.main()
        return code, capsys.readouterr().out

    return run


def group(body):
    return {
        "cr": {
            "apiVersion": "resources.azure.com/v1api20200601",
            "kind": "ResourceGroup",
            "metadata": {"namespace": "n", "name": "rg"},
            "spec": {"location": "westeurope"},
        },
        "resolve": {},
        "put": {
            "path": f"/subscriptions/{'0' * 8}-0000-0000-0000-{'0' * 12}"
            "/resourceGroups/rg",
            "api_version": "2020-06-01",
            "body": body,
        },
        "recording": "none.json",
        "needs": [],
    }


def vault():
    """Return a pair of a vault: only Azure knows whether a deleted one is there."""
    pair = group({})
    pair["cr"] |= {
        "apiVersion": "keyvault.azure.com/v1api20230701",
        "kind": "Vault",
        "metadata": {"namespace": "n", "name": "kv"},
        "spec": {
            "owner": {"armId": pair["put"]["path"]},
            "location": "westeurope",
            "properties": {"createMode": "createOrRecover"},
        },
    }
    return pair | {"needs": ["the deleted vault"]}


def test_a_pair_that_needs_a_lookup_is_counted_beside_the_others(compare):
    code, said = compare(
        right=group({"location": "westeurope", "name": "rg"}), vault=vault()
    )
    assert "vault: needs a lookup (get) that the pair does not hold" in said
    assert said.endswith("1 passed, 0 failed, 1 in need of a lookup\n")
    assert code == 0


def test_a_difference_is_still_one(compare):
    code, said = compare(wrong=group({"location": "elsewhere"}))
    assert "wrong: body.location" in said
    assert said.endswith("0 passed, 1 failed\n")
    assert code == 1
