"""Each block of code of the documentation is run."""

import logging
import os
import re
import subprocess
import sys

import yaml
from blocks import HOME, OTHERS, blocks, pages, written

from asoreconcile import CONFIG_MAPS, ObjectKey

SHELL_PAGES = {"tutorial"}  # its commands are in test_docs_tutorial.py


def test_what_the_pages_show_runs(tmp_path):
    """The tests that they show pass; those of a page whose blocks import one another
    by their titles in a process of their own.
    """
    written(tmp_path, among=[*pages(), *OTHERS])
    pages_shown = [folder for folder in tmp_path.iterdir() if any(folder.glob("*.py"))]
    titled = [folder for folder in pages_shown if not is_untitled(folder)]
    count = sum(passed([folder]) for folder in titled)
    count += passed([folder for folder in pages_shown if is_untitled(folder)])
    assert count >= 20


def is_untitled(folder):
    return all(
        file.name.startswith(f"test_{folder.name}_") for file in folder.iterdir()
    )


def passed(folders):
    """Run the tests in folders, and return their number. Other modules are
    importable.
    """
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", *map(str, folders)],
        cwd=folders[0].parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return int(re.search(r"(\d+) passed", done.stdout)[1])


def test_pages_with_code_have_a_test_that_runs_it():
    for page in pages():
        shown = [text for _, _, text in blocks(page, "python")]
        if shown and page != HOME / "index.md":
            assert any("def test_" in text for text in shown), page


def test_manifests_that_are_shown_are_yaml():
    found = [text for page in pages() for _, _, text in blocks(page, "yaml")]
    assert len(found) >= 2
    for text in found:
        for document in yaml.safe_load_all(text):
            assert {"apiVersion", "kind", "metadata"} <= document.keys()


def test_the_front_page_controller_works_and_lets_go(
    kube_client, kubeconfig, eventually, caplog
):
    """The controller does not fail for a deleted ConfigMap."""
    (_, _, text), *_ = blocks(HOME / "index.md", "python")
    shown = {"__name__": "greeter"}
    exec(compile(text, "index.md", "exec"), shown)
    ada, bob = ObjectKey("default", "ada"), ObjectKey("default", "bob")
    app = shown["application"](kubeconfig)
    with app.running():
        app.wait_until_ready()
        for key in (ada, bob):
            labels = {"greet": "yes"}
            metadata = {"name": key.name, "namespace": "default", "labels": labels}
            kube_client.create(CONFIG_MAPS, {"metadata": metadata})
            eventually(lambda key=key: kube_client.get(CONFIG_MAPS, key).get("data"))
            kube_client.delete(CONFIG_MAPS, key)
    assert [one.message for one in caplog.records if one.levelno >= logging.ERROR] == []
