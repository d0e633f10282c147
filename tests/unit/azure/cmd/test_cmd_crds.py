"""`asoreconcile crds`: definitions of a module's classes, or why there are none."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from asoreconcile.azure.cmd.asoreconcile import main

KINDS = '''
from __future__ import annotations

import attrs

from asoreconcile.resources.declaration import resource
from asoreconcile.resources.metadata import ObjectMeta


@attrs.define
class Spec:
    """What is wanted."""

    host: str
    """Where it is."""


@resource("example.com/v1", plural="websites")
@attrs.define
class Website:
    metadata: ObjectMeta
    spec: Spec
'''


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(__import__("sys").path))

    def run(text, *arguments, name="sitekinds"):
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
        monkeypatch.delitem(__import__("sys").modules, name, raising=False)
        return CliRunner().invoke(main, ["crds", *(arguments or (f"{name}.py",))])

    return run


def test_the_classes_of_a_file_become_yaml(run):
    result = run(KINDS)
    assert result.exit_code == 0, result.output
    (crd,) = yaml.safe_load_all(result.output)
    assert crd["metadata"]["name"] == "websites.example.com"
    (version,) = crd["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert spec["description"] == "What is wanted."
    assert spec["properties"]["host"]["description"] == "Where it is."
    assert "*id" not in result.output  # no anchors


def test_a_module_is_found_by_its_name(run):
    result = run(KINDS, "namedkinds", name="namedkinds")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import nothing_of_that_name", "cannot be imported: No module named"),
        ("x = ", "cannot be imported: invalid syntax"),
        ("x = 1", "has no class that @resource decorates"),
        (KINDS.replace("host: str", "host: int | list[str]"), "Spec.host: "),
        (
            KINDS.replace('"websites"', '"Websites"'),
            "is no plural: give one in lower case",
        ),
    ],
)
def test_what_is_wrong_is_said_in_a_line(run, text, said):
    result = run(text)
    assert result.exit_code == 2
    assert said in result.output
    assert "Traceback" not in result.output


def test_versions_need_somebody_who_converts(run):
    text = KINDS.replace('plural="websites"', 'plural="websites", storage=True') + (
        textwrap.dedent("""
            @attrs.define
            class NewSpec:
                address: str


            @resource("example.com/v2", plural="websites", kind="Website")
            @attrs.define
            class WebsiteV2:
                metadata: ObjectMeta
                spec: NewSpec
        """)
    )
    result = run(text)
    assert result.exit_code == 2
    assert "without a conversion the server drops" in result.output
    for options, path in (((), "/convert"), (("--webhook-path", "/turn"), "/turn")):
        result = run(text, "sitekinds.py", "--webhook-service", "web/hooks", *options)
        assert result.exit_code == 0, result.output
        (crd,) = yaml.safe_load_all(result.output)
        assert crd["spec"]["conversion"]["webhook"]["clientConfig"] == {
            "service": {"namespace": "web", "name": "hooks", "path": path, "port": 443}
        }
    result = run(text, "sitekinds.py", "--webhook-url", "https://web:1")
    (crd,) = yaml.safe_load_all(result.output)
    config = crd["spec"]["conversion"]["webhook"]["clientConfig"]
    assert config == {"url": "https://web:1/convert"}
    result = run(text, "sitekinds.py", "--webhook-service", "web")
    assert (result.exit_code, "NAMESPACE/NAME" in result.output) == (2, True)


def test_the_example_is_printed_without_anything_of_azure(tmp_path):
    """Its command, in a process that refuses Azure's packages."""
    tests = Path(__file__).resolve().parents[3]
    program = tmp_path / "program.py"
    program.write_text("from asoreconcile.azure.cmd.asoreconcile import main\nmain()\n")
    answer = subprocess.run(
        [
            *(sys.executable, tests / "withoutazure.py", program, "crds"),
            tests / "examples" / "typed_websites.py",
            *("--webhook-service", "web/websites"),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    (crd,) = yaml.safe_load_all(answer.stdout)
    names = [one["name"] for one in crd["spec"]["versions"]]
    assert names == ["v1", "v1alpha1"]
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert spec["properties"]["host"]["description"].startswith("The whole name")
