"""Files that hosts and editors read: they name commands and versions that are there."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FILES = [
    *sorted(path for path in (ROOT / ".github").rglob("*") if path.is_file()),
    ROOT / ".pre-commit-config.yaml",
    ROOT / ".ci" / "run",
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_each_command_and_page_that_is_named_is_there(path):
    text = path.read_text()
    for command in re.findall(r"(?<![\w/.])(?:hack|\.ci)/\w[\w-]*(?:\.md)?", text):
        assert (ROOT / command).exists(), command
    if path.suffix == ".md":
        for target in re.findall(r"\]\(([^)#]+)", text):
            assert (path.parent / target).exists(), target
    elif path.suffix in (".yml", ".yaml"):
        assert yaml.safe_load(text)


def test_the_gate_runs_with_each_python_that_is_supported():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    (job,) = workflow["jobs"].values()
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "classifiers"
    ]
    versions = re.findall(
        r":: Python :: (3\.\d+)$", "\n".join(classifiers), re.MULTILINE
    )
    assert job["strategy"]["matrix"]["python"] == versions
    assert ".ci/run" in [step.get("run") for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_only_read_and_ends(path):
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 90
