"""TypedDicts of kinds: what strict type checkers take, and what they find."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from asoreconcile.azure.catalogue.stubs import stub_module
from asoreconcile.azure.cmd.asoreconcile import main

REPOSITORY = Path(__file__).resolve().parents[4]
USE = """
from typing import TypedDict

from asoreconcile import Application, ObjectKey
from network import VIRTUALNETWORKS, VirtualNetwork
from storage import STORAGEACCOUNTS

net: VirtualNetwork = {
    "apiVersion": "network.azure.com/v20250301",
    "kind": "VirtualNetwork",
    "metadata": {"name": "net", "namespace": "default"},
    "spec": {
        "location": "westeurope",
        "addressSpace": {"addressPrefixes": ["10.0.0.0/16"]},
        "owner": {"name": "group"},
    },
}


def write(app: Application) -> None:
    app.client.create(VIRTUALNETWORKS, {**net})
    app.client.get(STORAGEACCOUNTS, ObjectKey("default", "a"))


net["spec"]["adressSpace"] = {}  # error: typeddict-unknown-key
net["spec"]["location"] = 1  # error: typeddict-item
net["kind"] = "VNet"  # error: typeddict-item
"""


def run(*arguments):
    return CliRunner().invoke(main, ["kinds", "stubs", *arguments])


@pytest.mark.timeout(300)  # a cold mypy reads the whole dependency tree
def test_the_modules_are_strictly_typed_and_find_what_is_wrong(tmp_path, monkeypatch):
    api = pytest.importorskip("mypy.api")
    result = run("network", "storage", "search", "--output-dir", str(tmp_path))
    assert result.exit_code == 0, result.output
    modules = sorted(tmp_path.glob("*.py"))
    assert [one.stem for one in modules] == ["network", "search", "storage"]
    (tmp_path / "use.py").write_text(USE)
    monkeypatch.setenv("MYPYPATH", str(tmp_path))
    monkeypatch.chdir(REPOSITORY)
    files = [str(one) for one in (*modules, tmp_path / "use.py")]
    out, err, _ = api.run(
        ["--strict", "--no-error-summary", "--hide-error-context", *files]
    )
    assert not err
    refused = set(
        re.findall(r"(\w+)\.py:(\d+): error: .*\[([\w-]+)\]$", out, re.MULTILINE)
    )
    marked = {
        ("use", str(number), line.partition("# error: ")[2])
        for number, line in enumerate(USE.splitlines(), 1)
        if "# error: " in line
    }
    assert refused == marked, out


def test_every_module_can_be_imported(tmp_path):
    """Names are defined before they are used, and each once."""
    result = run("*", "--output-dir", str(tmp_path))
    assert result.exit_code == 0, result.output
    modules = list(tmp_path.glob("*.py"))
    assert len(modules) > 40
    for module in modules:
        text = module.read_text()
        found = {}
        exec(compile(text, module.name, "exec"), found)
        classes = re.findall(r"^class (\w+)\(|^(\w+) = TypedDict\(", text, re.MULTILINE)
        assert len(classes) == len(set(classes)) > 1
        assert "Metadata" in found


def test_one_group_goes_to_the_output_at_a_version():
    result = run("network.azure.com", "--version", "v1api20201101")
    assert result.exit_code == 0, result.output
    assert 'Literal["network.azure.com/v1api20201101"]' in result.output
    assert result.output.startswith('"""TypedDicts of network.azure.com."""')


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("network", "storage"), "say --output-dir"),
        (("nothing",), "nothing.azure.com/*"),
        (("network", "--version", "v9"), "v9"),
        ((), "Missing argument"),
    ],
)
def test_what_is_wrong_is_said(arguments, said):
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.output


def crd(**fields):
    return {
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {"kind": "Thing", "plural": "my-things"},
            "versions": [
                {
                    "name": "v1",
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "description": 'A "thing" of\nours. And more.',
                            "required": ["spec"],
                            "properties": {
                                "spec": {"type": "object", "properties": fields}
                            },
                        }
                    },
                }
            ],
        }
    }


def test_names_that_python_lacks_and_types_of_each_form():
    obj = {"type": "object"}
    inner = {**obj, "properties": {"$ref": {"type": "string"}, "class": obj}}
    text = stub_module(
        [
            crd(
                odd=inner,
                port={"x-kubernetes-int-or-string": True},
                any={"x-kubernetes-preserve-unknown-fields": True},
                maybe={"type": "integer", "nullable": True},
                sizes={"type": "array", "items": {"type": "integer", "enum": [1, 2]}},
                by_name={**obj, "additionalProperties": {"type": "boolean"}},
            )
        ],
        title="Things.",
    )
    found = {}
    exec(text, found)
    spec = found["ThingSpec"].__annotations__
    shown = {
        name: getattr(hint, "__forward_arg__", str(hint)) for name, hint in spec.items()
    }
    assert "int | str" in shown["port"]
    assert "typing.Any" in shown["any"]
    assert "int | None" in shown["maybe"]
    assert "list[typing.Literal[1, 2]]" in shown["sizes"]
    assert "dict[str, bool]" in shown["by_name"]
    assert set(found["ThingSpecOdd"].__annotations__) == {"$ref", "class"}
    assert "spec" in found["Thing"].__required_keys__
    assert not found["MY_THINGS"].namespaced
    assert "A 'thing' of ours." in found["Thing"].__doc__
