"""Key export: what is asked of Azure, what is exported, what never shows."""

import logging

import pytest

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.middleware.factories import export_keys, export_status
from asoreconcile.azure.middleware.requests import Export, ExportSecrets, SecretExport
from asoreconcile.azure.testing.extensions import (
    ARM_ID,
    FakeArm,
    arm_fault,
    fake_ctx,
    returns,
)

NOTHING = SecretExport()
CANARY = "s3cr3t-c4n4ry"
VERSION = "2024-01-01"
ANSWER = {
    "primaryKey": CANARY + "-1",
    "nested": {"deep": CANARY + "-2"},
    "items": [{"keyName": "a b", "value": CANARY + "-3"}, {"keyName": "c"}],
    "number": 6380,
    "empty": "",
    "yes": True,
}
EXPORT = export_keys(
    "listKeys",
    {
        "primaryKey": "primaryKey",
        "deep": "nested.deep",
        "chosen": "items[keyName=a b].value",
        "unchosen": "items[keyName=z].value",
        "port": "number",
        "empty": "empty",
        "absent": "gone.for.good",
        "made": lambda answer: answer["nested"]["deep"].upper(),
    },
)


def cr(*names, **extra):
    secrets = {name: {"name": "out", "key": f"key-{name}", **extra} for name in names}
    return {"spec": {"operatorSpec": {"secrets": secrets}}}


def azure():
    return FakeArm().on("POST", "/listKeys", VERSION, ANSWER)


def exported(obj, *extra, arm=None, export=EXPORT, rest=NOTHING):
    req = ExportSecrets(fake_ctx(arm=arm or azure()), obj, frozenset(extra))
    return export(req, returns(rest))


@pytest.mark.parametrize(
    "obj",
    [{}, {"spec": {}}, cr(), cr("somethingElse"), {"spec": {"operatorSpec": None}}],
    ids=["no spec", "no operatorSpec", "no secrets", "another key", "null"],
)
def test_nothing_requested_makes_no_request(obj):
    assert exported(obj, arm=FakeArm()) == SecretExport()


def test_a_destination_set_to_null_asks_for_nothing():
    obj = {"spec": {"operatorSpec": {"secrets": {"primaryKey": None}}}}
    assert exported(obj, arm=FakeArm()) == SecretExport()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("primaryKey", CANARY + "-1"),
        ("deep", CANARY + "-2"),
        ("chosen", CANARY + "-3"),
        ("port", "6380"),
        ("made", CANARY.upper() + "-2"),
    ],
)
def test_a_requested_key_is_exported_from_its_place(name, value):
    export = Export("out", f"key-{name}", value)
    assert exported(cr(name)) == SecretExport((export,))


def test_one_request_serves_all_keys():
    arm = azure()
    exports = exported(cr("primaryKey", "deep"), "chosen", arm=arm)
    assert [one.key for one in exports.secrets] == ["key-deep", "key-primaryKey"]
    assert arm.sent == [("POST", f"{ARM_ID}/listKeys", VERSION)]


def test_keys_that_only_expressions_use_come_raw():
    export = exported({}, "primaryKey", "foreign")
    assert export == SecretExport((), {"primaryKey": CANARY + "-1"})


def test_an_expressions_key_without_a_value_is_absent_not_empty():
    assert exported({}, "primaryKey", "empty", "absent").raw.keys() == {"primaryKey"}


@pytest.mark.parametrize("name", ["absent", "empty", "unchosen"])
def test_a_missing_value_names_the_key_and_never_a_value(name):
    with pytest.raises(ConditionError, match=f'"{name}"') as raised:
        exported(cr("primaryKey", name))
    assert raised.value.reason == "Failed"
    assert CANARY not in str(raised.value)


def test_labels_and_annotations_of_the_destination_are_kept():
    (export,) = exported(cr("deep", labels={"a": "b"}, annotations={"c": "d"})).secrets
    assert (export.labels, export.annotations) == ({"a": "b"}, {"c": "d"})


def test_exports_of_the_inner_links_are_kept():
    inner = SecretExport((Export("in", "k", "v"),), {"raw": "r"})
    export = exported(cr("deep"), "deep", rest=inner)
    assert [one.name for one in export.secrets] == ["in", "out"]
    assert export.raw == {"raw": "r", "deep": CANARY + "-2"}


def test_a_refused_request_is_passed_on():
    arm = FakeArm().on("POST", "/listKeys", VERSION, arm_fault(409, "Conflict"))
    with pytest.raises(ArmError, match="Conflict"):
        exported(cr("deep"), arm=arm)


def test_an_empty_answer_is_a_missing_value():
    arm = FakeArm().on("POST", "/listKeys", VERSION, None)
    with pytest.raises(ConditionError, match="deep"):
        exported(cr("deep"), arm=arm)


def test_status_export_makes_no_request():
    export = export_status({"host": "status.host", "port": "status.port"})
    obj = cr("host", "port") | {"status": {"host": "h", "port": 6379}}
    found = exported(obj, arm=FakeArm(), export=export)
    assert {one.key: one.value for one in found.secrets} == {
        "key-host": "h",
        "key-port": "6379",
    }


def test_status_that_is_not_there_yet_is_a_missing_value():
    with pytest.raises(ConditionError, match='"host"'):
        exported(
            cr("host"), arm=FakeArm(), export=export_status({"host": "status.host"})
        )


def test_values_show_in_no_repr_and_no_log(caplog):
    caplog.set_level(logging.DEBUG)
    req = ExportSecrets(fake_ctx(arm=azure()), cr("deep"), frozenset({"primaryKey"}))
    export = EXPORT(req, returns(SecretExport()))
    assert export.raw["primaryKey"].startswith(CANARY)
    assert CANARY not in repr(export) + repr(req) + caplog.text
