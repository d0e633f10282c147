"""Functions between versions: which way they lead, what they keep, what is refused."""

import attrs
import pytest

from asoreconcile.resources.class_fields import ResourceError
from asoreconcile.resources.conversions import Conversions, convert_kinds
from asoreconcile.resources.declaration import resource
from asoreconcile.resources.metadata import ObjectMeta
from asoreconcile.webhooks.conversion import ConversionError


@attrs.define
class Spec1:
    host: str


@attrs.define
class Spec2:
    address: str
    size: int = 1


def declared(version, spec, kind="Site"):
    made = attrs.make_class(
        f"{kind}{version}",
        {"metadata": attrs.field(type=ObjectMeta), "spec": attrs.field(type=spec)},
    )
    return resource(f"example.com/{version}", plural="sites", kind=kind)(made)


V1, V2, V3 = declared("v1", Spec1), declared("v2", Spec2), declared("v3", Spec2)
OTHER = declared("v1", Spec1, kind="Other")


def newer(old: V1) -> V2:
    return V2(old.metadata, Spec2(old.spec.host))  # type: ignore[attr-defined]


def older(new: V2) -> V1:
    new.metadata.labels["was"] = str(new.spec.size)  # type: ignore[attr-defined]
    new.metadata.name = "another"  # type: ignore[attr-defined]  # not ours to change
    return V1(new.metadata, Spec1(new.spec.address))  # type: ignore[attr-defined]


def to_three(old: V2) -> V3:
    return V3(old.metadata, old.spec)  # type: ignore[attr-defined]


def to_two(new: V3) -> V2:
    return V2(new.metadata, new.spec)  # type: ignore[attr-defined]


def obj(version, **spec):
    meta = {"name": "a", "uid": "1", "managedFields": [{"manager": "m"}], "odd": 1}
    return {
        "apiVersion": f"example.com/{version}",
        "kind": "Site",
        "metadata": meta,
        "spec": spec,
    }


@pytest.fixture
def sites():
    made = Conversions(V1, V2, V3)
    for function in (newer, older, to_three, to_two):
        assert made.add(function) is function
    return made


def test_several_functions_lead_where_none_does_alone(sites):
    assert sites.missing() == []
    made = sites.convert(obj("v1", host="h"), "example.com/v3")
    assert made["apiVersion"] == "example.com/v3"
    assert made["spec"] == {"address": "h", "size": 1}


def test_only_labels_and_annotations_of_the_metadata_are_converted(sites):
    before = obj("v2", address="h", size=3)
    made = sites.convert(before, "example.com/v1")
    assert made["metadata"] == {**before["metadata"], "labels": {"was": "3"}}
    assert "labels" not in before["metadata"]


def test_what_a_way_there_and_back_loses_is_a_patch(sites):
    lost = sites.lost(obj("v2", address="h", size=3), "example.com/v1")
    assert lost == {"spec": {"size": 3}, "metadata": {"labels": None}}
    assert sites.lost(obj("v1", host="h"), "example.com/v3") == {
        "metadata": {"labels": None}
    }
    assert sites.lost(obj("v3", address="h", size=3), "example.com/v2") == {}


def test_a_way_that_no_function_leads_is_named():
    made = Conversions(V1, V2)
    made.add(newer)
    assert made.missing() == ["example.com/v2 to example.com/v1"]
    with pytest.raises(
        ResourceError, match=r"Site: nothing converts example.com/v2 to"
    ):
        convert_kinds(made)
    with pytest.raises(ConversionError, match=r"nothing converts example.com/v2"):
        made.convert(obj("v2", address="h"), "example.com/v1")
    with pytest.raises(ConversionError, match=r"nothing converts example.com/v9"):
        made.convert(obj("v9"), "example.com/v1")


def test_one_path_may_serve_several_kinds(sites):
    convert = convert_kinds(sites)
    assert convert(obj("v1", host="h"), "example.com/v2")["spec"]["address"] == "h"
    with pytest.raises(ConversionError, match="nothing converts Widget"):
        convert({**obj("v1"), "kind": "Widget"}, "example.com/v2")


def _unannotated(old):
    return old


def _to_itself(old: V1) -> V1:
    return old


def _of_another(old: V1) -> OTHER:
    return old


def _of_two(old: V1, new: V2) -> V2:
    return new


@pytest.mark.parametrize("function", [_unannotated, _to_itself, _of_another])
def test_a_function_says_from_where_and_to_where(function):
    with pytest.raises(ResourceError, match=r"annotate its parameter and its answer"):
        Conversions(V1, V2).add(function)


def test_a_function_takes_one_object_and_is_there_once(sites):
    with pytest.raises(TypeError, match="is no conversion"):
        sites.add(_of_two)
    with pytest.raises(
        ResourceError, match=r"example.com/v1 to example.com/v2 is there"
    ):
        sites.add(newer)


def test_an_answer_of_another_class_is_refused():
    made = Conversions(V1, V2)

    @made.add
    def wrong(old: V1) -> V2:
        return old

    with pytest.raises(ConversionError, match="is no Sitev2"):
        made.convert(obj("v1", host="h"), "example.com/v2")


def test_versions_are_of_one_kind_and_each_there_once():
    with pytest.raises(ResourceError, match="are not versions of one kind"):
        Conversions(V1, OTHER)
    with pytest.raises(ResourceError, match="a version is there twice"):
        Conversions(V1, declared("v1", Spec2))
