"""Recorded estates that need an extension: it is called, and Azure is asked the same.

One operator, pass by pass, before the recording; each case names the extension that
its recording exercises. `hack/replay` runs the same estates with the whole operator.
"""

import functools
from collections import Counter

import attrs
import pytest
from datafolder import data_folder
from replaysets import (
    RECORDINGS,
    misfits,
    most_requests,
    read_sets,
    versions_of,
    wrong_exports,
)
from world import World

from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.kind_registry import resource_of
from asoreconcile.azure.extensions.registry import builtin_sets
from asoreconcile.azure.middleware.chain import Extensions
from asoreconcile.base.objects import ObjectKey, gvk_of
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, SECRETS
from asoreconcile.testing.replay import ReplayServer, read_recordings
from asoreconcile.testing.replay.script import script_of

_PASSES = 400


class Links(Counter):
    """The number of calls of the links of a set of extensions, by set and kind."""

    def observe(self, link, set_name, *, outcome, seconds):
        self[set_name, link.kind.kind] += 1


class Replayed(World):
    """A world whose Azure is a recording, and whose extensions are counted."""

    def __init__(self, tmp_path, exchanges):
        super().__init__(tmp_path, azure=ReplayServer(exchanges))
        self.links = Links()

    def make_operator(self, **options):
        extensions = Extensions.compose(
            builtin_sets(),
            kinds=[kind.group_kind for kind in builtin().kinds()],
            metrics=self.links,
        )
        return attrs.evolve(super().make_operator(**options), extensions=extensions)

    def create(self, estate):
        """Apply a set and run passes until all is Ready."""
        for group_kind, names in versions_of(estate).items():
            kind = builtin().kind(group_kind)
            self.client.create(CUSTOM_RESOURCE_DEFINITIONS, crd(kind, versions=names))
            self._kinds[group_kind] = self._kind(kind.version(max(names)))
        for manifest in estate.manifests:
            self.apply(manifest)
        due = [(0.0, obj) for obj in estate.resources]
        for _ in range(_PASSES):
            if not due:
                return
            due.sort(key=lambda entry: entry[0])
            when, obj = due.pop(0)
            self.clock.advance(max(when - self.clock.monotonic(), 0.0))
            result = self.run(obj)
            if not self._is_ready(obj):
                wait = result.requeue_after_seconds or 0.0
                due.append((self.clock.monotonic() + wait, obj))
        raise AssertionError([(o["kind"], self.ready(o)) for _, o in due])

    def resource_for(self, obj):
        """Return the resource of a manifest's version, with which it is applied."""
        if gvk_of(obj).group_kind in self._kinds:
            return resource_of(builtin().version(gvk_of(obj)))
        return super().resource_for(obj)

    def _is_ready(self, obj):
        return (self.ready(obj) or {}).get("status") == "True"


# The set of extensions and the kind whose keys are listed.
KEYS = {
    "Cognitiveservices_v20250601": ("cognitiveservices.Account", "Account"),
    "Communication_v20230401": (
        "communication.CommunicationService",
        "CommunicationService",
    ),
    "Search_v1api20231101": ("search.SearchService", "SearchService"),
    "Servicebus_v1api20240101": (
        "servicebus.NamespacesAuthorizationRule",
        "NamespacesAuthorizationRule",
    ),
    "Signalrservice_v1api20211001": ("signalrservice.SignalR", "SignalR"),
}
# Those that decide without asking Azure anything more.
OTHERS = {
    "Managedidentity_v1api20230131": (
        "managedidentity.UserAssignedIdentity",
        "UserAssignedIdentity",
    ),
    "Dbforpostgresql_v1api20220120preview": (
        "dbforpostgresql.FlexibleServersFirewallRule",
        "FlexibleServersFirewallRule",
    ),
    "Sqldatabase_v1api20240815": ("documentdb.DatabaseAccount", "DatabaseAccount"),
    "Network_v1api20201101": ("network.LoadBalancer", "LoadBalancer"),
}
# Requests that Azure refused at first and accepted later: (method, status) of each.
REFUSED = {
    "Web_v1api20220301": [("PUT", 404), ("PUT", 409)],
    "Containerservice_v1api20250301": [("PUT", 409)],
    "Dbformysql_v20210501": [("PUT", 400)],
}


@pytest.mark.parametrize("name", KEYS, ids=[case[0] for case in KEYS.values()])
def test_an_extension_asks_for_the_recorded_keys(tmp_path, name):
    estate, exchanges = recorded(name)
    with Replayed(tmp_path, exchanges) as world:
        world.create(estate)

        wanted = sorted(t.path for t in script_of(exchanges).actions)
        assert sorted(a.path for a in world.azure.journal if a.method == "POST") == (
            wanted
        )
        assert wanted
        assert_as_recorded(world, estate, exchanges)
        assert KEYS[name] in world.links
        assert all(kind["data"] for kind in secrets_of(world, estate))


@pytest.mark.parametrize("name", OTHERS, ids=[case[0] for case in OTHERS.values()])
def test_an_extension_is_called_and_asks_nothing_more(tmp_path, name):
    estate, exchanges = recorded(name)
    with Replayed(tmp_path, exchanges) as world:
        world.create(estate)

        assert_as_recorded(world, estate, exchanges)
        assert OTHERS[name] in world.links


@pytest.mark.parametrize("name", REFUSED)
def test_what_was_refused_for_now_is_tried_until_it_is_taken(tmp_path, name):
    estate, exchanges = recorded(name)
    with Replayed(tmp_path, exchanges) as world:
        world.create(estate)

        refused = [
            (asked.method, asked.status)
            for asked in world.azure.journal
            if asked.status >= 400 and asked.method != "GET"
        ]
        assert sorted(refused) == REFUSED[name]
        assert_as_recorded(world, estate, exchanges)


def assert_as_recorded(world, estate, exchanges):
    """The recorded PUTs and exports, by no more requests than were recorded, but for a
    look before the first PUT of each resource.
    """
    wrong = [m for m in misfits(world.azure.summary()) if not m.startswith("left")]
    assert wrong == []
    assert list(wrong_exports(estate, world.client)) == []
    made = Counter(asked.method for asked in world.azure.journal)
    assert made <= most_requests(exchanges)


def secrets_of(world, estate):
    titles = [t for t in estate.expected_exports if t.startswith("Secret/")]
    keys = [ObjectKey("default", title.partition("/")[2]) for title in titles]
    assert keys
    return [world.client.get(SECRETS, key) for key in keys]


def recorded(name):
    full = f"Test_{name}_CreationAndDeletion"
    estates, recordings = everything()
    if full not in recordings.keys() & estates.keys():
        pytest.skip(f"recorded data is without {full}")
    return estates[full], recordings[full]


@functools.cache
def everything():
    """All sets and their recordings, unpacked once."""
    estates = {e.name: e for e in read_sets([data_folder("replay-sets")])}
    return estates, read_recordings(data_folder(RECORDINGS), estates.keys())
