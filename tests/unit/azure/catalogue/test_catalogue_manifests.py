"""Reading manifests as kubectl reads them."""

import io

import pytest

from asoreconcile.azure.catalogue import manifests
from asoreconcile.azure.catalogue.manifests import (
    ManifestError,
    load_yaml,
    parse_manifests,
    read_manifests,
)

ONE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("on", True),
        ("y", True),
        ("Off", False),
        ("'on'", "on"),
        ("yEs", "yEs"),
        ("2020-01-01", "2020-01-01"),
        ("2001-12-14T21:59:43.1Z", "2001-12-14T21:59:43.1Z"),
        ("017", 15),
        ("0o17", 15),
        ("08", 8),
        ("0x1F", 31),
        ("-0b11", -3),
        ("1_000", 1000),
        ("+5", 5),
        ("1:30", "1:30"),
        ("1.2.3", "1.2.3"),
        ("1e3", 1000),
        ("1.5", 1.5),
        ("1.0", 1),
        (".5", 0.5),
        ("~", None),
        ("", None),
        ("null", None),
        ("18446744073709551615", 18446744073709551615),
        ("18446744073709551616", 18446744073709551616.0),
        ("!!str 1", "1"),
        ("!!timestamp 2020-01-01", "2020-01-01"),
    ],
)
def test_scalars_are_kubectls(text, value):
    found = load_yaml(f"a: {text}\n")["a"]

    assert found == value
    assert type(found) is type(value)


def test_number_keys_become_text_and_merge_keys_merge():
    text = "base: &b {x: 1, z: 2}\n80: eighty\nown: {<<: *b, x: 3}\n"

    assert load_yaml(text) == {
        "base": {"x": 1, "z": 2},
        "80": "eighty",
        "own": {"x": 3, "z": 2},
    }


def test_documents_know_their_line():
    text = f"# comment\n{ONE}---\n---\n# nothing\n---\n\n{ONE}"

    found = parse_manifests(text, path="a.yaml")

    assert [m.where for m in found] == ["a.yaml:2", "a.yaml:10"]


def test_lists_come_as_their_items():
    item = '{"apiVersion": "v1", "kind": "A", "metadata": {"name": "%s"}}'
    text = f'{{"apiVersion":"v1","kind":"List","items":[{item % "a"},{item % "b"}]}}'

    assert [m.obj["metadata"]["name"] for m in parse_manifests(text)] == ["a", "b"]


def test_json_may_be_indented_with_tabs():
    text = '{\n\t"apiVersion": "v1",\n\t"kind": "A",\n\t"metadata": {}\n}\n'

    assert len(parse_manifests(text)) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: [1\n", "f.yaml:3: invalid YAML: "),
        ("a: 1\nc: 2\na: 3\n", "f.yaml:3: invalid YAML: key 'a' is given twice"),
        (
            "a:\n  on: 1\n",
            (
                "f.yaml:2: invalid YAML: key on means true in YAML: write it in quotes,"
                " 'on'"
            ),
        ),
        ("a: .inf\n", "f.yaml:1: invalid YAML: .inf cannot be written as JSON"),
        ("a: !!python/name:os.system x\n", "f.yaml:1: invalid YAML: could not"),
        ("[1, 2]\n", "f.yaml:1: is no object"),
        ("kind: X\nmetadata: {}\n", "f.yaml:1: apiVersion is missing"),
        ("apiVersion: v1\nmetadata: {}\n", "f.yaml:1: kind is missing"),
        ("apiVersion: v1\nkind: X\n", "f.yaml:1: metadata is missing"),
        ("apiVersion: v1\nkind: X\nmetadat: {}\n", "('metadat' is no field of a"),
        ("apiversion: v1\nkind: X\n", "('apiversion' is no field of a manifest)"),
        ("? [a, b]\n: 1\n", "f.yaml:1: invalid YAML: a key must be text"),
    ],
)
def test_problems_have_file_and_line(text, message):
    with pytest.raises(ManifestError) as error:
        parse_manifests(text, path="f.yaml")

    assert message in str(error.value)
    assert str(error.value).startswith("f.yaml:")


def test_files_folders_and_standard_input(tmp_path, monkeypatch):
    (tmp_path / "b.yml").write_text(ONE)
    (tmp_path / "a.yaml").write_text(ONE + "---\n" + ONE)
    (tmp_path / "c.json").write_text('{"apiVersion":"v1","kind":"A","metadata":{}}')
    (tmp_path / "notes.txt").write_text("not: [a manifest")
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "d.yaml").write_text(ONE)
    monkeypatch.setattr("sys.stdin", io.StringIO(ONE))

    found = read_manifests([tmp_path, "-", tmp_path / "b.yml"])

    names = [m.path.rpartition("/")[2] for m in found]
    assert names == ["a.yaml", "a.yaml", "b.yml", "c.json", "-", "b.yml"]


def test_the_problems_of_all_files_come_at_once(tmp_path):
    (tmp_path / "a.yaml").write_text("a: [\n")
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "empty").mkdir()

    with pytest.raises(ManifestError) as error:
        read_manifests([tmp_path, tmp_path / "absent.yaml", tmp_path / "empty"])

    texts = error.value.problems
    assert len(texts) == 4
    assert "a.yaml:2: invalid YAML" in texts[0]
    assert texts[1].endswith("b.yaml: is not UTF-8 text")
    assert texts[2].endswith("absent.yaml: cannot be read: No such file or directory")
    assert texts[3].endswith("empty: no .yaml, .yml, .json file in this folder")


LAUGHS = "\n".join(
    ["a0: &a0 [" + ", ".join(["lol"] * 9) + "]"]
    + [f"a{n}: &a{n} [" + ", ".join([f"*a{n - 1}"] * 9) + "]" for n in range(1, 10)]
)
LONG = "1" * 200_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{ONE}{LAUGHS}\n", "aliases stand for too much"),
        (f"{ONE}a: &a [*a]\n", "part of what it stands for"),
        (f"{ONE}a: {LONG}\n", "too many digits"),
        (f"{ONE}a: -0x{LONG}\n", "too many digits"),
        (f"{ONE}a: {LONG}.5\n", "too many digits"),
        (f"{ONE}a: 1e999\n", "too large"),
        (f"{ONE}a: {'[' * 5000}\n", "levels"),
        ('{"apiVersion": "v1", "kind": "A", "kind": "B"}', "'kind' is given twice"),
        (
            '{"apiVersion": "v1", "kind": "A", "metadata": {"a": 1, "\\u0061": 2}}',
            "'a' is given twice",
        ),
        (f'{{"apiVersion": "v1", "kind": "A", "a": {LONG}}}', "digits"),
        ('{"a": ' + "[" * 5000 + "]" * 5000 + "}", "levels"),
    ],
    ids=lambda one: one[:40].split("\n")[-1],
)
def test_hostile_files_are_problems_of_a_manifest(text, message):
    with pytest.raises(ManifestError, match=message):
        parse_manifests(text, path="f.yaml")


def test_json_of_very_many_values_is_refused_before_it_is_parsed(monkeypatch):
    monkeypatch.setattr(manifests, "_MOST_VALUE_BYTES", 1 << 20)
    with pytest.raises(ManifestError, match="too much memory"):
        parse_manifests('{"a": [' + "[]," * 100_000 + "[]]}")


def test_a_file_is_read_to_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(manifests, "MOST_BYTES", 100)
    file = tmp_path / "long.yaml"
    file.write_text(ONE + "# " + "x" * 100)
    with pytest.raises(ManifestError, match="longer than"):
        read_manifests([file])
    monkeypatch.setattr("sys.stdin", io.StringIO("x" * 101))
    with pytest.raises(ManifestError, match="longer than"):
        read_manifests(["-"])
