"""Text of others reaches a terminal only through one door, which escapes it."""

import json
import re
import unicodedata
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

import asoreconcile
from asoreconcile.azure.cmd import asoctl
from asoreconcile.azure.cmd import asoreconcile as program
from asoreconcile.azure.cmd.manifests import Row
from asoreconcile.azure.cmd.status_view import Lines, drawn
from asoreconcile.azure.cmd.yamltext import yaml_text
from asoreconcile.base.objects import ObjectKey

FOLDER = Path(asoreconcile.__file__).parents[1] / "cmd"
FORGED = "error     forged"
HOSTILE = [
    f"a\n{FORGED}",
    f"a\r{FORGED}",
    "\x1b[2J\x1b]0;title\x07",
    "\x9b31m\x7f\x08",
    "\u202egnirts\u202c\u2066x\u2069",
    f"a\u2028{FORGED}\x85b",
    "zero\u200bwidth\U000e0041",
]
hostile = pytest.mark.parametrize("text", HOSTILE, ids=ascii)


@pytest.mark.parametrize(
    "file", [one for one in FOLDER.glob("*.py") if one.name != "terminal.py"], ids=str
)
def test_there_is_one_door(file):
    written = r"click\.(secho|echo)\(|(?<![\w.])print\(|std(out|err)\.write\("
    assert re.search(written, file.read_text()) is None


def check(output):
    """Nothing acts, and no text of others begins a line."""
    for char in output.replace("\n", ""):
        assert unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert not [line for line in output.split("\n") if line.startswith(FORGED)]


def run(*arguments, of=asoctl, **options):
    result = CliRunner().invoke(of.main, arguments, **options)
    assert not result.exception or isinstance(result.exception, SystemExit)
    check(result.output)
    return result


def group(text):
    return {
        "apiVersion": "resources.azure.com/v1api20200601",
        "kind": "ResourceGroup",
        "metadata": {"name": "rg", "annotations": {text: text}},
        "spec": {"location": "westus", "tags": {text: text}},
    }


def written(folder, *documents):
    path = folder / "m.json"
    path.write_text("\n---\n".join(map(json.dumps, documents)))
    return str(path)


@hostile
@pytest.mark.parametrize("form", ["json", "yaml"])
def test_documents_are_escaped_and_stay_the_same(tmp_path, text, form):
    file = written(tmp_path, group(text))
    load = json.loads if form == "json" else yaml.safe_load
    rendered = run("render", "-f", file, "-o", form, "--subscription", "s")
    assert load(rendered.output)["body"]["tags"] == {text: text}
    converted = run("convert", "-f", file, "--to", "newest", "-o", form)
    found = load(converted.output)
    assert found["metadata"]["annotations"][text] == text
    assert found["spec"]["tags"] == {text: text}


@hostile
def test_yaml_that_people_read_stays_as_it_is(text):
    document = {"a": "plain", "b": "two\nlines\n", "ü": "日本", text: [text]}
    check(yaml_text([document]))
    assert yaml.safe_load(yaml_text([document])) == document
    assert yaml_text([{"b": "two\nlines\n"}]) == "---\nb: 'two\n\n  lines\n\n  '\n"


@hostile
@pytest.mark.parametrize(
    "change",
    [
        lambda obj, text: obj.update(kind=text),
        lambda obj, text: obj.update(apiVersion=text),
        lambda obj, text: obj["metadata"].update(name=text),
        lambda obj, text: obj["spec"].update({text: 1}),
        lambda obj, text: obj["spec"].update(location=[text]),
        lambda obj, text: obj["spec"].update(owner={"name": text}),
        lambda obj, text: obj.pop("metadata") and obj.update({text: 1}),
    ],
)
def test_what_is_wrong_with_a_manifest_is_told_on_a_line(tmp_path, text, change):
    obj = group("a")
    change(obj, text)
    file = written(tmp_path, obj)
    run("render", "-f", file)
    run("convert", "-f", file, "--to", "newest")
    run("plan", "-f", file, "--subscription", "s", env={"AZURE_TENANT_ID": ""})
    run("explain", "-f", file, env={"KUBECONFIG": str(tmp_path / "none")})


@hostile
def test_files_and_arguments_are_shown_as_text(tmp_path, text):
    folder = tmp_path / text.replace("\x00", "")
    folder.mkdir()
    run("render", "-f", str(folder))
    (folder / "bad.yaml").write_text("a: [")
    run("render", "-f", str(folder))
    run("render", "-f", str(folder / "none"))
    (folder / "answers").write_text(json.dumps({text: 1}))
    run("render", "-f", "x", "--resolve", str(folder / "answers"))
    run("explain", f"VirtualNetwork/{text}", "-f", "x")
    run("explain", f"{text}/a", env={"KUBECONFIG": str(folder / "none")})
    run("kinds", "list", text, of=program)
    run("kinds", "show", text, of=program)
    run("kinds", "crd", "--webhook-service", text, of=program)
    run("extensions", "list", text, of=program)
    run("crds", text, of=program)
    run("doctor", "--fix", text)
    run("doctor", env={"KUBECONFIG": str(folder / "none")})
    run("import", "azure-resource", text)


@hostile
def test_a_table_of_conditions_is_drawn_of_text(text, capsys):
    row = Row(
        kind="Kind",
        group="g",
        resource="kinds.g",
        key=ObjectKey("ns", text),
        status="False",
        severity="Error",
        reason=text,
        message=text,
        age_seconds=1.0,
        requests=1,
    )
    lines = drawn([row], total_requests=1, note="", width=99, height=30)
    assert "\n" not in "".join(lines)
    check("\n".join(re.sub(r"\x1b\[\d+m", "", line) for line in lines))
    Lines().show([row], total_requests=1, note=text)
    check(capsys.readouterr().out)
