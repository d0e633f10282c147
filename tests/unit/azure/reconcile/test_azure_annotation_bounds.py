"""Annotations within their bounds, of every author."""

import ast

import pytest
import sources

from asoreconcile.azure.arm.text_bounds import (
    ALLOWED_LIST,
    ARM_ID,
    PERSONS_ANNOTATION,
    RECORD,
)
from asoreconcile.azure.catalogue.conversion import CONVERSION_DATA
from asoreconcile.azure.controllers.annotation_rules import annotation_problems
from asoreconcile.azure.reconcile.model import annotations as names
from asoreconcile.azure.reconcile.model.annotation_bounds import (
    TOO_LONG,
    annotations,
    bound_of,
    bounded,
    length_problems,
    too_long,
    why_unreadable,
)
from asoreconcile.azure.reconcile.state.export_cache import EXPORTED

OTHERS = "kubectl.kubernetes.io/last-applied-configuration"
# Modules that read annotations of others, or write annotations back.
_RAW = {
    "_shared.py": "compares values",
    "admission.py": "the text that kubectl applied; compares what was written",
    "alias.py": "compares one value",
    "annotation_bounds.py": "the one reader",
    "annotation_rules.py": "measures what was written",
    "conversion.py": "parts of a spec, which have no bound",
    "crd_cleanup.py": "annotations of CRDs, which administrators write",
    "crd_plan.py": "annotations of CRDs, which administrators write",
    "crds.py": "annotations of CRDs, which administrators write",
    "export_plan.py": "annotations of exported Secrets, only compared",
    "exported_manifest.py": "writes them to a file",
    "installation.py": "annotations of other programs' objects",
    "placeholders.py": "writes them back",
    "render.py": "compares one value",
    "reserved.py": "whether a mark is there",
    "secret_access.py": "writes them back",
    "storage_rewrite.py": "annotations of CRDs, which administrators write",
    "webhook_checks.py": "annotations of CRDs, which administrators write",
    "webhooks.py": "annotations of CRDs, which administrators write",
}


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        (names.SYNC_PERIOD, PERSONS_ANNOTATION),
        (names.IGNORE_FIELDS, PERSONS_ANNOTATION),
        (names.ALLOWED_SCOPES, ALLOWED_LIST),
        (names.RESOURCE_ID, ARM_ID),
        (names.POLLER_TOKEN, RECORD),
        (EXPORTED, RECORD),
        ("asoreconcile/of-another-version", RECORD),
    ],
)
def test_ft5_a_text_is_read_up_to_its_bound(name, bound):
    fits, long = "x" * bound.most, "x" * (bound.most + 1)
    assert bounded({name: fits, OTHERS: "y" * 99_999})[name] == fits
    notes = {name: long, OTHERS: "y" * 99_999}
    assert bounded(notes) == {**notes, name: TOO_LONG}
    assert annotations({"metadata": {"annotations": notes}}) == bounded(notes)
    assert too_long(bounded(notes)) == [name]
    assert str(bound.most) in why_unreadable(bounded(notes), {})
    assert "Namespace" in why_unreadable({}, bounded(notes))
    assert notes[name] == long


def test_annotations_of_others_have_no_bound():
    assert bound_of(OTHERS) is None
    notes = {OTHERS: "y" * 99_999, "a/b": "z" * 99_999, CONVERSION_DATA: "w" * 99_999}
    assert bounded(notes) is notes
    assert why_unreadable(notes, notes) == ""


def test_values_that_are_no_text_stay_as_they_are():
    notes = {names.PAUSED: True, names.SYNC_PERIOD: "x" * 5000}
    assert bounded(notes) == {names.PAUSED: True, names.SYNC_PERIOD: TOO_LONG}


def test_a_write_is_refused_only_for_values_that_it_makes_too_long():
    long, longer = "x" * 5000, "x" * 6000
    assert not length_problems({names.PAUSED: long}, {names.PAUSED: long})
    assert length_problems({names.PAUSED: longer}, {names.PAUSED: long})
    (sentence,) = length_problems({names.PAUSED: long}, {}).values()
    assert sentence == (
        "annotation asoreconcile/paused has 5000 characters, and at most 4096 are read"
    )


def _object(**notes):
    return {"metadata": {"annotations": {f"asoreconcile/{n}": notes[n] for n in notes}}}


def test_admission_names_the_annotation_and_the_limit_and_quotes_nothing():
    old = _object(paused="x" * 5000)
    new = {
        "metadata": {
            "annotations": {**annotations(old), names.SYNC_PERIOD: "1" * 60_000}
        }
    }
    new["metadata"]["annotations"][names.PAUSED] = "x" * 5000
    (problem,) = annotation_problems(None, new, old)
    assert problem.path == f"metadata.annotations[{names.SYNC_PERIOD}]"
    assert "at most 4096 are read" in problem.message
    assert len(str(problem)) < 300


def is_raw(node):
    return (
        isinstance(node, ast.Attribute) and ast.unparse(node) == "objects.annotations"
    )


def test_operator_code_reads_annotations_within_their_bounds():
    found = set()
    for path in sources.modules():
        if "testing" in path.parts or not (
            {"azure", "controllers", "cmd", "extensions"} & {*path.parts}
        ):
            continue
        for node in ast.walk(sources.tree(path)):
            imported = (
                [one.name for one in node.names]
                if isinstance(node, ast.ImportFrom)
                and node.module == "asoreconcile.base.objects"
                else []
            )
            if "annotations" in imported or is_raw(node):
                found.add(path.name)
    assert found == {*_RAW}
