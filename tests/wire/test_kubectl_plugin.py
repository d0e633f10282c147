"""`kubectl aso`: the same program, found by kubectl as a plug-in."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from kubeapi import kube_server

from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.cmd.asoctl import main
from asoreconcile.azure.cmd.lazy_group import LazyGroup
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupKind
from asoreconcile.base.version import __version__

SCRIPT = f"#!{sys.executable}\nfrom asoreconcile.azure.cmd.asoctl import main\nmain()\n"


def kubectl():
    """That of KUBEBUILDER_ASSETS or of the machine."""
    there = Path(os.environ.get("KUBEBUILDER_ASSETS", ""), "kubectl")
    return str(there) if there.is_file() else shutil.which("kubectl")


@pytest.fixture
def plugin(tmp_path):
    script = tmp_path / "bin" / "kubectl-aso"
    script.parent.mkdir()
    script.write_text(SCRIPT)
    script.chmod(0o755)
    return script


def run(*command, **environment):
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, **environment},
    )


@pytest.fixture
def told(monkeypatch, capsys):
    """A function that runs the plug-in: its exit code and its output."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["/bin/kubectl-aso", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return ended.value.code, said.out + said.err

    return run


def test_its_usage_and_its_examples_name_the_plugin(told):
    _, plan = told("plan", "--help")
    assert plan.startswith("Usage: kubectl aso plan [OPTIONS]")
    assert "kubectl aso plan -f shop.yaml" in plan
    _, nested = told("import", "azure-resource", "--help")
    assert nested.startswith("Usage: kubectl aso import azure-resource")
    assert "asoctl" not in plan + nested
    assert "kubectl aso, version" in told("--version")[1]
    code, wrong = told("pln")
    assert code == 2
    assert "Usage: kubectl aso" in wrong


def test_under_its_own_name_it_is_asoctl():
    assert isinstance(main, LazyGroup)
    done = CliRunner().invoke(main, ["plan", "--help"])
    assert done.stdout.startswith("Usage: asoctl plan")
    assert "asoctl plan -f shop.yaml" in done.stdout


@pytest.mark.skipif(kubectl() is None, reason="kubectl is not there")
def test_the_real_kubectl_finds_it_and_passes_on_its_exit_code(plugin, tmp_path):
    path = f"{plugin.parent}{os.pathsep}{os.environ['PATH']}"
    listed = run(kubectl(), "plugin", "list", PATH=path)
    assert str(plugin) in listed.stdout
    told = run(kubectl(), "aso", "version", PATH=path)
    assert f"asoctl {__version__}" in told.stdout
    with kube_server() as (kube, client):
        kube.write_kubeconfig(tmp_path / "kubeconfig")
        places = {"PATH": path, "KUBECONFIG": str(tmp_path / "kubeconfig")}
        kind = builtin().kind(GroupKind("resources.azure.com", "ResourceGroup"))
        crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        client.post(crds, crd(kind, versions=["v1api20200601"])).expect(201)
        group = {
            "apiVersion": "resources.azure.com/v1api20200601",
            "kind": "ResourceGroup",
            "metadata": {"name": "rg", "namespace": "default"},
            "spec": {"location": "westeurope"},
        }
        manifest = tmp_path / "rg.yaml"
        manifest.write_text(yaml.safe_dump(group))
        run(kubectl(), "apply", "-f", str(manifest), **places)
        explained = run(kubectl(), "aso", "explain", "resourcegroup/rg", **places)
        assert explained.returncode == 0, explained.stderr
        assert "ResourceGroup default/rg" in explained.stdout
        assert "no condition yet" in explained.stdout
        missing = run(kubectl(), "aso", "explain", "resourcegroup/none", **places)
        assert missing.returncode == 1
        sick = run(kubectl(), "aso", "doctor", **places)
        assert sick.returncode == 1
        assert "there is no Deployment" in sick.stdout
