"""The simulator's rules of types compared with recorded Azure: never stricter than a
success, and as strict as the refusals of references.
"""

import json
import lzma
from collections import Counter
from pathlib import Path

import attrs
import pytest
from azure_types import recorded_puts, write_types
from datafolder import data_folder

from asoreconcile.testing.arm import type_facts
from asoreconcile.testing.arm.address import parse
from asoreconcile.testing.arm.refusals import RefusedError

ROOT = Path(__file__).parents[2]
# Codes of refusals for references in a body; the others are of state and of identities.
OF_REFERENCES = {
    "InvalidResourceReference",
    "NetworkSecurityGroupNotFoundForFlowLog",
    "NotFound",
    "ReferencedResourceNotProvisioned",
    "StorageProvisioningStateNotSucceeded",
    "WorkspaceNotFound",
}


@attrs.frozen
class Running:
    """The operations that ran at the time of a recorded request."""

    keys: frozenset

    def running(self, key):
        return key in self.keys or None


@pytest.fixture(scope="module")
def unfinished():
    """For each cassette and index, the ids whose PUT was accepted and not yet done."""
    found = {}
    with lzma.open(data_folder("timelines-dev.jsonl.xz")) as lines:
        for line in map(json.loads, lines):
            accepted = [w for w in line["writes"] if w["method"] == "PUT"]
            for write in accepted:
                found[line["name"], write["i"]] = frozenset(
                    other["id"].lower()
                    for other in accepted
                    if other["i"] < write["i"] < (other.get("done_at") or 0)
                )
    return found


def code_of(answer):
    if not isinstance(answer, dict):
        return ""
    error = answer.get("error") or answer
    code = error.get("code") or error.get("Code") or ""
    return error["details"][0]["code"] if code == "RetryableError" else code


def refusal_of(put, running):
    checks = attrs.evolve(put.azure.checks, operations=Running(running))
    try:
        checks.check_write(parse(put.id), put.body, put.api_version, None)
    except RefusedError as refused:
        shown = json.loads(refused.response().body)
        return refused.status, code_of(shown)
    return None


def test_no_recorded_success_is_refused_and_refusals_for_references_are(unfinished):
    accepted, stricter, refused = 0, [], Counter()
    for put in recorded_puts(data_folder("")):
        running = unfinished.get((put.cassette, put.index), frozenset())
        if put.status < 300:
            accepted += 1
            stricter += [(put.id, found.key) for found in put.violations()]
        elif (code := code_of(put.answer)) in OF_REFERENCES:
            given = refusal_of(put, running)
            refused[given and given == (put.status, code)] += 1
    assert (accepted > 1600, stricter) == (True, [])
    # Same error, another error, and accepted: in these last, what Azure still was busy
    # with is not in the recording.
    assert refused == {True: 30, False: 2, None: 6}


@pytest.fixture
def new_types(tmp_path, monkeypatch):
    """An empty folder from which the simulator reads its types."""
    made = type_facts.PublishedTypes(tmp_path)
    monkeypatch.setattr(type_facts, "PublishedTypes", lambda _: made)
    type_facts.published.cache_clear()
    yield tmp_path
    type_facts.published.cache_clear()


@pytest.mark.long
def test_the_types_are_those_that_hack_kinds_makes(new_types):
    """From the published types, the recordings and the table of immutable paths."""
    data = data_folder("bicep-types-az.tar.xz").parent
    write_types(data, new_types, newer=ROOT / "hack" / "newer-kinds")

    types = ROOT / "asoreconcile" / "testing" / "arm" / "types"
    shipped = {p.name: p.read_bytes() for p in types.glob("*.json")}
    assert {p.name: p.read_bytes() for p in new_types.glob("*.json")} == shipped
