"""What Azure answered to recorded reads, as specs: they send what is there already."""

import json
import lzma
from collections import Counter

from datafolder import data_folder

from asoreconcile.azure.differences import HIDDEN, differences
from asoreconcile.catalogue.arm_to_spec import to_spec
from asoreconcile.catalogue.payload import to_arm
from asoreconcile.catalogue.validation import problems
from asoreconcile.controllers.catalogue import builtin

# What Azure does not show and the kind needs: a person has to add it.
NOT_SHOWN = {
    ("Workbook.insights.azure.com", "spec.serializedData"): 3,
    ("WorkspacesConnection.machinelearningservices.azure.com", "spec.properties"): 1,
}


class Secrets:
    """References are ids alone: an answer names no object."""

    def reference(self, reference):
        raise AssertionError(reference)

    def config_map(self, reference):
        raise AssertionError(reference)

    def secret(self, reference):
        return HIDDEN

    def secret_map(self, reference):
        return HIDDEN


def recorded():
    """Kind version, Azure name and body of every recorded read of a kind."""
    versions = {}
    for kind in builtin().kinds():
        for name in kind.versions if kind.is_arm else ():
            of = builtin().version(kind.gvk(name))
            versions.setdefault((of.arm_type.lower(), of.api_version), of)
    with lzma.open(data_folder("roundtrips-dev.jsonl.xz"), "rt") as lines:
        for line in lines:
            trip = json.loads(line)
            of = versions.get((trip["arm_type"].lower(), trip["api_version"]))
            for body in trip["get_bodies"] if of else ():
                yield of, trip["id"].rpartition("/")[2], body


def test_a_recorded_read_becomes_a_spec_that_asks_for_nothing_else():
    count, wrong, missing = 0, [], Counter()
    for of, name, body in recorded():
        count += 1
        mapped = to_spec(of, body, name=name, secret_name="s")
        again = to_arm(of, mapped.spec, name=name, inputs=Secrets())
        wrong += [(of.gvk, str(d)) for d in differences(again, body)]
        obj = {"metadata": {"name": "n"}, "spec": mapped.spec}
        for problem in problems(of, obj):
            if not problem.path.startswith("spec.owner"):
                missing[str(of.group_kind), problem.path] += 1
    assert count > 1000
    assert wrong == []
    assert missing == NOT_SHOWN
