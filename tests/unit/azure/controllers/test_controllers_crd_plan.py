"""What becomes of a CRD that is there: by what it has, and who installed it."""

import pytest
from asocrds import AUTHORITY, SERVICE, aso_crd

from asoreconcile.azure.catalogue.conversion import stored_name
from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.catalogue.webhook_manifests import WebhookClient
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.crd_coverage import (
    missing,
    stored_version,
    versions,
)
from asoreconcile.azure.controllers.crd_plan import (
    SPEC_HASH,
    STORED_AS,
    CrdPlan,
    DesiredCrds,
    plan,
)
from asoreconcile.base.objects import GroupKind, annotations, copy_json, labels

VNET = builtin().kind(GroupKind("network.azure.com", "VirtualNetwork"))
SOME_KINDS = [kind for kind in builtin().kinds() if kind.is_arm][::14]
OURS = DesiredCrds("asoreconcile-1.2.0", SERVICE)
LIGHT = DesiredCrds("asoreconcile-1.2.0")


def field(definition, path):
    """A part of every version's spec schema, to be changed in place."""
    found = [
        v["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        for v in definition["spec"]["versions"]
    ]
    return [properties[path] for properties in found]


def live(definition):
    """As the API server gives it: nothing of it is the catalogue's."""
    return copy_json(definition)


@pytest.mark.parametrize("kind", SOME_KINDS, ids=str)
def test_a_crd_of_aso_s_is_run_as_it_is(kind):
    """Ours adds nothing to it, but descriptions and rules."""
    assert plan(kind, aso_crd(kind), OURS) == CrdPlan()


def test_an_older_aso_s_crd_gets_what_it_lacks_and_keeps_what_it_has():
    old = aso_crd(VNET, VNET.versions[:2], build="v2.5.0")
    assert stored_version(old) != stored_name(VNET)

    desired = plan(VNET, old, OURS).desired

    assert set(versions(old)) < set(versions(desired))
    assert set(VNET.versions) <= set(versions(desired))
    # A release that comes back reads what it stored, and can put its CRD back.
    assert stored_version(desired) == stored_version(old)
    assert annotations(desired)[STORED_AS] == stored_version(old)
    assert missing(desired, old) == ""
    # Tools and a returning ASO find it by ASO's name; the version says who wrote it.
    assert labels(desired) == {
        **labels(old),
        "app.kubernetes.io/version": "asoreconcile-1.2.0",
    }
    assert annotations(desired)["cert-manager.io/inject-ca-from"] == AUTHORITY
    assert annotations(desired)[SPEC_HASH]
    assert plan(VNET, desired, OURS) == plan(VNET, aso_crd(VNET), OURS)


def test_objects_move_to_the_newest_form_once_the_note_is_taken_away():
    desired = plan(VNET, aso_crd(VNET, VNET.versions[:2]), OURS).desired
    moving = live(desired)
    del moving["metadata"]["annotations"][STORED_AS]

    moved = plan(VNET, moving, OURS).desired

    assert stored_version(moved) == stored_name(VNET)
    assert STORED_AS not in annotations(moved)
    assert missing(moved, desired) == ""
    assert plan(VNET, moved, OURS) == CrdPlan()


def test_the_ca_bundle_of_our_service_stays():
    old = aso_crd(VNET, VNET.versions[:2])
    config = old["spec"]["conversion"]["webhook"]["clientConfig"]
    config["caBundle"] = "Y2E="
    desired = plan(VNET, old, OURS).desired
    assert desired["spec"]["conversion"]["webhook"]["clientConfig"] == config
    elsewhere = DesiredCrds(OURS.build, WebhookClient(namespace="other", name="hooks"))
    desired = plan(VNET, old, elsewhere).desired
    assert "caBundle" not in desired["spec"]["conversion"]["webhook"]["clientConfig"]


def unknown_version(definition):
    newer = copy_json(definition["spec"]["versions"][0])
    definition["spec"]["versions"].append({**newer, "name": "v20990101"})


def unknown_field(definition):
    for one in field(definition, "tags"):
        one["type"] = "array"
        one["items"] = {"type": "string"}
        del one["additionalProperties"]


def additional_field(definition):
    specs = (
        v["schema"]["openAPIV3Schema"]["properties"]["spec"]
        for v in definition["spec"]["versions"]
    )
    for spec in specs:
        spec["properties"]["brandNew"] = {"type": "string"}


def newer_build(definition):
    labels(definition)["app.kubernetes.io/version"] = "asoreconcile-1.10.0"


def newer_stored(definition):
    for one in definition["spec"]["versions"]:
        one["storage"] = False
    definition["spec"]["versions"][0] |= {
        "name": VNET.versions[-1] + "storage",
        "storage": True,
    }


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (unknown_version, "does not know its v20990101"),
        (unknown_field, "has what ours lacks: v1api20201101.spec.tags: type array"),
        (additional_field, "has what ours lacks: v1api20201101.spec.brandNew"),
        (newer_build, "a newer version has installed it: asoreconcile-1.10.0"),
    ],
)
def test_a_newer_crd_is_kept(change, why):
    found = aso_crd(VNET, VNET.versions[:2])
    change(found)
    planned = plan(VNET, found, OURS)
    assert planned.desired is None
    assert why in planned.why


def test_a_version_of_a_newer_release_in_which_nothing_is_stored_is_served_no_more():
    """A rollback leaves the CRD so; the newer release comes back after it."""
    newer = DesiredCrds("asoreconcile-1.3.0", SERVICE)
    found = live(newer.manifest(VNET))
    found["spec"]["versions"].append(
        {"name": "v20990101", "served": True, "storage": False, "schema": {}}
    )
    made = plan(VNET, found, OURS).desired
    assert set(versions(made)) == set(versions(newer.manifest(VNET)))
    assert labels(made) == labels(found)
    assert "newer version has installed" in plan(VNET, made, OURS).why
    found["status"] = {"storedVersions": ["v20990101"]}
    assert plan(VNET, found, OURS).desired is None


def test_objects_stored_in_a_newer_version_stay_there():
    kind = next(
        k
        for k in builtin().kinds()
        if k.is_arm and k.storage != k.versions[-1] and "preview" in k.versions[-1]
    )
    found = aso_crd(kind)
    for one in found["spec"]["versions"]:
        one["storage"] = one["name"] == f"{kind.versions[-1]}storage"
    planned = plan(kind, found, OURS)
    assert planned.desired is None
    assert "stored in a newer version" in planned.why


def test_without_a_converter_several_versions_stay_as_they_are():
    assert "--webhook-port and --all-versions" in plan(VNET, aso_crd(VNET), LIGHT).why
    older = LIGHT.manifest(VNET, (VNET.versions[0],))
    assert "--webhook-port and --all-versions" in plan(VNET, older, LIGHT).why


def test_one_version_becomes_all_where_somebody_converts():
    one = LIGHT.manifest(VNET)
    desired = plan(VNET, live(one), OURS).desired
    assert stored_version(desired) == stored_name(VNET)
    assert desired["spec"]["conversion"]["strategy"] == "Webhook"


def _served_no_more(crd):
    crd["spec"]["versions"][0]["served"] = False


def _without_columns(crd):
    del crd["spec"]["versions"][0]["additionalPrinterColumns"]


def _without_a_field(crd):
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"].pop("location")


def _without_labels(crd):
    crd["metadata"]["labels"] = {"theirs": "stays"}


@pytest.mark.parametrize(
    "edit", [_served_no_more, _without_columns, _without_a_field, _without_labels]
)
def test_ours_that_was_edited_is_repaired_by_its_content(edit):
    made = OURS.manifest(VNET)
    assert plan(VNET, live(made), OURS).desired is None
    edited = live(made)
    labels(edited)["theirs"] = annotations(edited)["theirs"] = "stays"
    edit(edited)  # and the hash that is noted on it is right
    desired = plan(VNET, edited, OURS).desired
    assert desired["spec"] == {**edited["spec"], **made["spec"]}
    assert labels(desired) == {**labels(made), "theirs": "stays"}
    assert annotations(desired) == {**annotations(made), "theirs": "stays"}
    assert plan(VNET, desired, OURS).desired is None


def test_a_field_added_to_ours_stays_and_is_named():
    edited = live(OURS.manifest(VNET))
    schema = edited["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["extra"] = {"type": "string"}
    planned = plan(VNET, edited, OURS)
    assert planned.desired is None
    assert planned.why.endswith(".spec.extra")


def test_what_aso_has_written_over_ours_is_not_taken_for_ours():
    made = live(OURS.manifest(VNET))
    labels(made)["app.kubernetes.io/version"] = "v2.20.0"
    del made["spec"]["versions"][0]["additionalPrinterColumns"]
    assert plan(VNET, made, OURS).desired is None


def test_the_user_s_labels_come_onto_all():
    labelled = DesiredCrds(OURS.build, SERVICE, {"team": "net"})
    desired = plan(VNET, aso_crd(VNET), labelled).desired
    assert labels(desired)["team"] == "net"
    assert labels(labelled.manifest(VNET))["team"] == "net"
    assert plan(VNET, live(desired), labelled).desired is None


def test_an_authority_that_nobody_sees_to_is_written():
    told = DesiredCrds(
        OURS.build, WebhookClient("", SERVICE.namespace, SERVICE.name, 443, "bmV3")
    )
    found = aso_crd(VNET)
    assert plan(VNET, found, told).desired is None, "cert-manager sees to it"
    del annotations(found)["cert-manager.io/inject-ca-from"]  # type: ignore[attr-defined]
    desired = plan(VNET, found, told).desired
    config = desired["spec"]["conversion"]["webhook"]["clientConfig"]
    assert config["caBundle"] == "bmV3"


@pytest.mark.parametrize(
    ("own", "other", "lack"),
    [
        ({"type": "string"}, {"type": "string", "description": "x"}, ""),
        ({"type": "string"}, {"type": "integer"}, "v: type integer"),
        ({"type": "string", "enum": ["a"]}, {"type": "string"}, "v: value any"),
        ({"type": "string", "enum": ["a", "b"]}, {"type": "string", "enum": ["a"]}, ""),
        ({"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["a", "c"]}, "v: value c"),
        ({"type": "integer", "minimum": 1}, {"type": "integer"}, "v: a lower minimum"),
        ({"type": "integer", "minimum": 1}, {"type": "integer", "minimum": 2}, ""),
        ({"type": "integer", "maximum": 1}, {"type": "integer", "maximum": 2},
         "v: a higher maximum"),
        ({"type": "string", "pattern": "a"}, {"type": "string", "pattern": "b"},
         "v: another pattern"),
        ({"type": "object", "properties": {"a": {"type": "string"}}},
         {"type": "object", "properties": {"b": {"type": "string"}}}, "v.b"),
        ({"type": "object", "additionalProperties": {"type": "string"}},
         {"type": "object", "properties": {"b": {"type": "integer"}}}, "v.b: type integer"),
        ({"type": "object", "required": ["a"]}, {"type": "object"}, "v: objects without a"),
        ({"type": "array", "items": {"type": "string"}},
         {"type": "array", "items": {"type": "integer"}}, "v[]: type integer"),
        ({"type": "object", "properties": {}},
         {"type": "object", "additionalProperties": {"type": "string"}}, "v{}"),
        ({"type": "object"}, {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
         "v: unknown fields"),
        ({"x-kubernetes-preserve-unknown-fields": True},
         {"type": "object", "properties": {"a": {"type": "string"}}}, ""),
    ],
)  # fmt: skip
def test_what_a_schema_lacks_of_another(own, other, lack):
    def definition(schema):
        version = {
            "name": "v",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": schema},
        }
        return {"spec": {"versions": [version]}}

    assert missing(definition(own), definition(other)) == lack


def test_a_version_that_is_lacking():
    assert missing(crd(VNET), crd(VNET, versions=VNET.versions)).startswith(
        "version v1"
    )
