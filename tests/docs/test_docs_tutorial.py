"""The tutorial, done as it says: its files, its commands, in its order."""

import os
import shlex
import signal
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import pytest
import yaml
from blocks import HOME, blocks

from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.conditions import condition_of
from asoreconcile.kube.config import load
from asoreconcile.kube.errors import NotFoundError
from asoreconcile.kube.resources import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    ApiResource,
)

PAGE = HOME / "tutorial.md"
BIN = Path(sys.executable).parent
# Its install brings no package of Azure's.
WITHOUT_AZURE = (sys.executable, Path(__file__).parents[1] / "withoutazure.py")
WEBSITES = ApiResource("example.com", "v1", "websites", "Website")
SHOP = ObjectKey("default", "shop")
TOLD = "<h1>Shoes and more</h1>"


@pytest.fixture
def folder(tmp_path):
    for language in ("python", "yaml"):
        for _, title, text in blocks(PAGE, language):
            (tmp_path / title).write_text(text)
    return tmp_path


@pytest.fixture
def processes():
    started = []
    yield started
    for process in reversed(started):
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) in (0, -signal.SIGTERM)


def commands():
    """Each line of its shell blocks, without what this environment has already."""
    found = [line for _, _, text in blocks(PAGE, "shell") for line in text.splitlines()]
    assert found[:2] == [
        "python3 -m venv venv",
        "venv/bin/pip install 'CLONE[cli,cel,testing]'",
    ]
    return found[2:]


def test_each_step_does_what_the_page_says(folder, processes, eventually):
    environment = {**os.environ, "KUBECONFIG": str(folder / "kubeconfig")}
    step = Steps(folder)
    done = []
    for line in commands():
        words = shlex.split(line.replace("venv/bin/", f"{BIN}/"))
        match words[0].rpartition("/")[2], words[1:]:
            case "asoreconcile", ["crds", *_]:
                made = subprocess.run(
                    [*WITHOUT_AZURE, *words[:3]],
                    cwd=folder,
                    check=True,
                    capture_output=True,
                    text=True,
                )
                (folder / words[4]).write_text(made.stdout)
            case "asoreconcile", ["testserver", *_]:
                processes.append(subprocess.Popen([*WITHOUT_AZURE, *words], cwd=folder))
                eventually((folder / "kubeconfig").exists)
            case "kubectl", ["apply", "-f", file]:
                step.apply(file)
            case "python", ["controller.py"]:
                with (folder / "log").open("w") as log:
                    process = subprocess.Popen(
                        words, cwd=folder, env=environment, stderr=log
                    )
                processes.append(process)
            case "kubectl", ["get", "websites,configmaps"]:
                assert eventually(step.page) == {"index.html": TOLD}
                eventually(step.ready)
            case "export", ["KUBECONFIG=$PWD/kubeconfig"]:
                pass
            case other:
                raise AssertionError(f"a command that no test does: {other}")
        done.append(words[0])
    assert len(done) == 7
    # "Now delete the ConfigMap, or change it by hand: the controller restores it."
    step.client.delete(CONFIG_MAPS, SHOP)
    eventually(step.page)
    tampered = {"data": {"index.html": "tampered"}}
    step.client.patch(CONFIG_MAPS, SHOP, tampered)
    eventually(lambda: step.page() == {"index.html": TOLD})
    # The controller's own write causes no conflict: the reader would see an error at
    # once.
    assert "Reconcile failed" not in (folder / "log").read_text()
    # "Delete the Website, and its ConfigMap is deleted too": by the API server, not by
    # the controller.
    processes[-1].terminate()
    assert processes[-1].wait(30) == 0
    step.client.delete(WEBSITES, SHOP)
    with pytest.raises(NotFoundError):
        step.client.get(CONFIG_MAPS, SHOP)
    step.client.close()


class Steps:
    """The steps that a reader does with kubectl."""

    def __init__(self, folder):
        self.folder = folder

    @cached_property
    def client(self):
        return KubeClient(load(str(self.folder / "kubeconfig")), user_agent="test")

    def apply(self, file):
        for obj in yaml.safe_load_all((self.folder / file).read_text()):
            is_crd = obj["kind"] == "CustomResourceDefinition"
            kind = CUSTOM_RESOURCE_DEFINITIONS if is_crd else WEBSITES
            self.client.create(kind, obj)

    def page(self):
        return self.client.get(CONFIG_MAPS, SHOP)["data"]

    def ready(self):
        return condition_of(self.client.get(WEBSITES, SHOP), "Ready")
