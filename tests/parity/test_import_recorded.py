"""Azure's recorded responses to reads, imported as specs: their PUTs repeat the body
that exists.
"""

import json
import lzma
import re
import tarfile
from collections import Counter
from contextlib import suppress

from datafolder import data_folder

from asoreconcile.azure.arm import ids
from asoreconcile.azure.catalogue.arm_to_spec import to_spec
from asoreconcile.azure.catalogue.payload import to_arm
from asoreconcile.azure.catalogue.validation import problems
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.reconcile.model.differences import HIDDEN, differences
from asoreconcile.azure.reconcile.planning.resource_import.child_types import (
    ResourceTask,
)
from asoreconcile.azure.reconcile.planning.resource_import.manifests import (
    inside_parents,
    manifests_of,
    with_pools_apart,
)
from asoreconcile.azure.reconcile.planning.resource_import.options import ImportOptions
from asoreconcile.testing.replay.exchanges import exchange_of

# Fields that the kind requires and Azure does not show: a person has to add them.
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


def versions_by_type():
    """By ARM type in lower case and api-version."""
    versions = {}
    for kind in builtin().kinds():
        for name in kind.versions if kind.is_arm else ():
            of = builtin().version(kind.gvk(name))
            versions.setdefault((of.arm_type.lower(), of.api_version), of)
    return versions


def exchanged():
    """The same of whole recordings, which the replay sets are played from: each body
    once, also those that show a resource before its PUT has ended.
    """
    versions, seen = versions_by_type(), set()
    with tarfile.open(data_folder("recordings-dev.tar.xz")) as members:
        for member in filter(tarfile.TarInfo.isfile, members):
            for raw in json.loads(members.extractfile(member).read())["exchanges"]:
                is_read = (raw["method"], raw["status"]) == ("GET", 200)
                if not is_read or not isinstance(raw["body"], dict):
                    continue
                exchange = exchange_of(raw)
                with suppress(ids.ArmIdError):
                    arm_id = ids.parse_stated(exchange.path)
                    key = arm_id.type.lower(), exchange.target.api_version
                    text = json.dumps(raw["body"], sort_keys=True)
                    of = versions.get(key) if arm_id.name else None
                    if of is not None and (key, text) not in seen:
                        seen.add((key, text))
                        yield of, arm_id.name, raw["body"]


def recorded():
    """Kind version, Azure name and body of every recorded read of a kind."""
    versions = versions_by_type()
    with lzma.open(data_folder("roundtrips-dev.jsonl.xz"), "rt") as lines:
        for line in lines:
            trip = json.loads(line)
            of = versions.get((trip["arm_type"].lower(), trip["api_version"]))
            for body in trip["get_bodies"] if of else ():
                yield of, trip["id"].rpartition("/")[2], body


# Names of values that tell how a resource is at the moment; `state` alone is declared.
FACT = re.compile(
    r"(?i)\.(etag|systemdata|provisioningstate|nodeimageversion|vaulturi|discoveryurl"
    r"|currentvalue|peering\w+|\w+monitorstatus|\w+connectionstate|resourceguid)\b"
)


def leaves(value, at=""):
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, f"{at}.{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, at)
    else:
        yield at


def test_no_spec_has_a_fact_of_the_moment_it_was_read():
    found = set()
    for of, name, body in recorded():
        spec = to_spec(of, body, name=name, secret_name="s").spec
        found |= {(of.arm_type, at) for at in leaves(spec) if FACT.search(at)}
        if of.arm_type == "Microsoft.Network/publicIPAddresses":
            assert "ipAddress" not in spec
        for one in spec.get("ipConfigurations", ()):
            if one.get("privateIPAllocationMethod") == "Dynamic":
                assert "privateIPAddress" not in one
    assert found == set()


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


def test_every_other_read_of_the_recordings_does_too():
    count, wrong = 0, []
    for of, name, body in exchanged():
        count += 1
        spec = to_spec(of, body, name=name, secret_name="s").spec
        again = to_arm(of, spec, name=name, inputs=Secrets())
        wrong += [(of.gvk, str(d)) for d in differences(again, body)]
    assert count > 1500
    assert wrong == []


def estates():
    """The last read of each resource of a kind, by recording."""
    versions = versions_by_type()
    with tarfile.open(data_folder("recordings-dev.tar.xz")) as members:
        for member in filter(tarfile.TarInfo.isfile, members):
            last = {}
            for raw in json.loads(members.extractfile(member).read())["exchanges"]:
                if (raw["method"], raw["status"]) != ("GET", 200):
                    continue
                exchange = exchange_of(raw)
                with suppress(ids.ArmIdError):
                    arm_id = ids.parse_stated(exchange.path)
                    of = versions.get(
                        (arm_id.type.lower(), exchange.target.api_version)
                    )
                    if arm_id.name and of is not None:
                        task = ResourceTask(arm_id, of)
                        last[task.key] = task, raw["body"]
            yield [*last.values()]


def parts(value, at=""):
    """Yield each object in a spec with the name of the field that holds it."""
    for inner in value if isinstance(value, list) else [value]:
        if isinstance(inner, dict):
            yield at, inner
            for name, below in inner.items():
                yield from parts(below, name)


def test_a_recorded_estate_has_no_child_twice_and_only_parts_that_are_written():
    count, twice, strange = 0, [], set()
    for found in estates():
        read = with_pools_apart(found)
        inside = inside_parents(read)
        kept = [(task, body) for task, body in read if task.key not in inside]
        count += len(manifests_of(read, ImportOptions()))
        children = {
            (ids.key(task.owner_id), task.id.type.rpartition("/")[2], task.id.name)
            for task, _ in kept
        }
        for task, body in kept:
            arm_type = task.version.arm_type
            name = task.id.name
            spec = to_spec(task.version, body, name=name, secret_name="s").spec
            for at, part in parts(spec):
                if at and part == {}:
                    strange.add((arm_type, at))
                # `agentPoolProfiles` are the cluster's `agentPools`.
                twice += [
                    child
                    for child in children
                    if child[0] == task.key
                    and at.lower().startswith(child[1].lower().rstrip("s"))
                    and child[2].lower() == str(part.get("name")).lower()
                ]
            # No PUT of the recordings has any of them.
            strange |= {(arm_type, name) for name in spec} & OF_AZURE
            if spec.get("type", "").lower() == arm_type.lower():
                strange.add((arm_type, "type"))
    assert count > 1300
    assert twice == []
    assert strange == REQUIRED


OF_AZURE = {
    ("Microsoft.ContainerService/managedClusters", "identityProfile"),
    ("Microsoft.ContainerService/managedClusters", "servicePrincipalProfile"),
    ("Microsoft.Web/sites", "hostNameSslStates"),
}
# The kind refuses a spec without them.
REQUIRED = {
    ("Microsoft.KeyVault/vaults", "permissions"),
    ("Microsoft.MachineLearningServices/workspaces/connections", "properties"),
}


def test_each_pool_of_a_recorded_cluster_is_written_once():
    """Azure shows the pool `ap2`, which was made by itself, in its cluster, too."""
    versions, last = versions_by_type(), {}
    with tarfile.open(data_folder("recordings-dev.tar.xz")) as members:
        name = "recordings/Test_AKS_ManagedCluster_20250801_CRUD.json"
        recording = json.loads(members.extractfile(name).read())
    for raw in recording["exchanges"]:
        exchange = exchange_of(raw)
        if (raw["method"], raw["status"]) != ("GET", 200):
            continue
        with suppress(ids.ArmIdError):
            arm_id = ids.parse_stated(exchange.path)
            of = versions.get((arm_id.type.lower(), exchange.target.api_version))
            if of and of.group_kind.group == "containerservice.azure.com":
                last[arm_id.text] = ResourceTask(arm_id, of), raw["body"]
    read = with_pools_apart([*last.values()])
    specs = {
        one.obj["metadata"]["name"]: one.obj["spec"]
        for one in manifests_of(read, ImportOptions())
    }
    (cluster,) = (spec for spec in specs.values() if "agentPoolProfiles" in spec)
    assert [pool["name"] for pool in cluster["agentPoolProfiles"]] == ["ap1"]
    assert specs["ap2"]["mode"] == "System"
    # A pool that was not read itself stays in its cluster.
    alone = [one for one in last.values() if "agentPoolProfiles" in str(one[1])]
    ((_, body),) = with_pools_apart(alone)
    assert len(body["properties"]["agentPoolProfiles"]) == 2
