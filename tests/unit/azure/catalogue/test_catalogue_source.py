"""The project's own form holds all that the extracted catalogue says."""

import json
from functools import reduce
from pathlib import Path

import pytest
from datafolder import data_folder
from kinds_source import SOURCE_FORMAT, convert, expanded
from shape_writer import ShapeWriter

from asoreconcile.azure.catalogue.files import CatalogueFileError, KindFolder
from asoreconcile.azure.catalogue.shapes import Shapes
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupVersionKind, copy_json

# Fields of newer releases of ASO than the extracted one.
FURTHER = {
    "SecurityGroup": ("members", "owners"),
    "Watcher": ("operatorSpec.autoStart",),
}
# Kinds of newer releases, in the form of the extracted catalogue.
NEWER = Path(__file__).parents[4] / "hack" / "newer-kinds"


def test_all_780_schemas_are_those_of_the_extracted_catalogue():
    compared = 0
    sources = [*data_folder("catalogue").glob("*.json"), *NEWER.glob("*.json")]
    for path in sorted(sources):
        raw = json.loads(path.read_text())
        for kind, entry in raw["kinds"].items():
            for version, head in entry["versions"].items():
                source = entry["versions"][head.get("sameAs", version)]
                gvk = GroupVersionKind(raw["group"], version, kind)
                ours = copy_json(builtin().version(gvk).schema)
                for field in FURTHER.get(kind, ()):
                    *outer, name = ("spec", *field.split("."))
                    inside = reduce(lambda at, o: at["properties"][o], outer, ours)
                    assert inside["properties"].pop(name)
                assert ours == expanded(source["schema"], raw["defs"]), gvk
                compared += 1
    assert compared == 780


def test_converting_again_changes_nothing(tmp_path):
    from importlib.resources import files

    made = convert(data_folder("catalogue"), tmp_path, newer=NEWER)

    assert (made.groups, made.kinds, made.versions) == (47, 297, 780)
    shipped = files("asoreconcile.azure.controllers") / "kinds"
    written = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.json")}
    assert len(written) == 2 * made.groups + 1
    assert "index.json" in written
    for path in tmp_path.rglob("*.json"):
        committed = shipped.joinpath(str(path.relative_to(tmp_path)))
        assert committed.read_bytes() == path.read_bytes(), path.name


def test_own_schemas_survive_being_packed_and_expanded_again():
    kinds = [k for k in builtin().kinds() if k.group_kind.group == "cache.azure.com"]
    schemas = [kind.version(v).spec_schema for kind in kinds for v in kind.versions]
    writer = ShapeWriter()
    for schema in schemas:
        writer.count(schema)

    packed = [writer.pack(schema, named=True) for schema in schemas]

    shapes = Shapes(json.loads(json.dumps(writer.named)))
    assert [shapes.schema(shape) for shape in packed] == schemas


@pytest.mark.parametrize(
    ("schema", "shape"),
    [
        ({"type": "string"}, "string"),
        ({"x-kubernetes-preserve-unknown-fields": True}, "any"),
        ({"type": "array", "items": {"type": "integer"}}, "[]integer"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "{}string"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}},
         "[][]boolean"),
        ({"type": "object"}, {}),
        ({"type": "string", "minLength": 1}, {"type": "string", "minLength": 1}),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 2},
         {"type": "array", "items": "string", "maxItems": 2}),
        ({"type": "object", "required": ["a"], "properties": {"a": {"type": "number"}}},
         {"required": ["a"], "properties": {"a": "number"}}),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True},
         {"x-kubernetes-preserve-unknown-fields": True}),
    ],
)  # fmt: skip
def test_shape_notation(schema, shape):
    writer = ShapeWriter()
    writer.count(schema)

    assert writer.pack(schema) == shape
    assert Shapes({}).schema(shape) == schema


def test_what_is_repeated_gets_one_name():
    repeated = {
        "type": "object",
        "properties": {f"property{n}": {"type": "string"} for n in range(3)},
    }
    whole = {"type": "object", "properties": {"a": repeated, "b": repeated}}
    writer = ShapeWriter()
    writer.count(whole)

    shape = writer.pack(whole)

    assert shape["properties"]["a"] == shape["properties"]["b"]
    assert shape["properties"]["a"].startswith("@s")
    assert Shapes(writer.named).schema(shape) == whole


@pytest.fixture
def extracted(tmp_path):
    """Writes a source of one kind; answers what the project's own form says of it."""

    def build(versions, **types):
        kind = {
            "plural": "widgets",
            "storage": "v2storage",
            "categories": ["azure", "demo"],
            "versions": versions,
        }
        document = {
            "format": SOURCE_FORMAT,
            "group": "demo.azure.com",
            "defs": {},
            "types": types,
            "kinds": {"Widget": kind},
        }
        source = tmp_path / "source"
        source.mkdir()
        (source / "README.md").write_text("Beside the files.")
        (source / "demo.json").write_text(json.dumps(document))
        convert(source, tmp_path / "made", newer=NEWER)
        made = KindFolder(tmp_path / "made")
        return made.index()["demo.azure.com"]["Widget"], made.group("demo.azure.com")

    return build


def test_versions_are_listed_by_name_whatever_their_order_in_the_source(extracted):
    properties = {"spec": {"type": "object"}, "status": {"type": "object"}}
    head = {"scope": "Resource", "schema": {"properties": properties}}
    versions = {"v2": head, "v1api1": {"sameAs": "v2"}, "v3": head, "v1": head}

    entry, _ = extracted(versions)

    assert entry == {
        "plural": "widgets",
        "scope": "Resource",
        "storage": "v2",
        "versions": ["v1", "v1api1", "v2", "v3"],
    }


def test_a_field_that_is_read_in_several_places_stays_where_it_was_first(extracted):
    _, group = extracted({}, t={"f": ["a", "b", ["$name", "name", "v"], "c", "a"]})

    assert group["tables"]["t"]["fields"] == [["$name", "name", "v"], "a", "b", "c"]


def test_a_union_is_found_in_the_status_below_lists_and_maps(extracted):
    """The status calls the leaf after the discriminator's value, not after its type."""
    union = {"type": "object", "properties": {"leaf": {"type": "object"}}}
    many = {"type": "array", "items": {"type": "object", "additionalProperties": union}}
    properties = {
        "spec": {"type": "object"},
        "status": {"type": "object", "properties": {"things": many}},
    }
    head = {"spec": "t", "schema": {"properties": properties}}

    _, group = extracted(
        {"v1": head},
        t={"f": [["things", "things", "[]{}@u"]]},
        u={"f": [], "disc": ["kind", {"leafType": "Leaf"}]},
    )

    (status,) = group["status"].values()
    things = status["properties"]["things"]["items"]["additionalProperties"]
    assert things["union"] == ["kind", {"Leaf": "leaf"}]


def test_expanding_leaves_the_source_as_it_is():
    schema = {"items": {"$def": "d"}, "additionalProperties": True}
    before = json.dumps(schema)

    made = expanded(schema, {"d": {"type": "string"}})

    assert made == {"items": {"type": "string"}, "additionalProperties": True}
    assert json.dumps(schema) == before


@pytest.mark.parametrize("text", ['{"format": "else"}', "{}"])
def test_a_source_of_another_format_is_refused(tmp_path, text):
    (tmp_path / "x.json").write_text(text)

    with pytest.raises(CatalogueFileError, match=r"x\.json"):
        convert(tmp_path, tmp_path / "out", newer=NEWER)
