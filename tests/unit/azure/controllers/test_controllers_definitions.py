"""Which CRDs are there, and what follows for readiness and for who calls us."""

from base64 import b64encode

import pytest

from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.catalogue.webhook_manifests import WebhookClient
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.crd_plan import called
from asoreconcile.azure.controllers.crds import BUILD
from asoreconcile.azure.controllers.definitions import Definitions, reduced
from asoreconcile.azure.controllers.leader_note import LeaderNote
from asoreconcile.base.objects import GroupKind, ObjectKey
from asoreconcile.base.tls import fingerprints
from asoreconcile.cache.entry import Entry
from asoreconcile.testing.throwaway_certificates import certificate_authority

VNET = builtin().kind(GroupKind("network.azure.com", "VirtualNetwork"))
NAME = "virtualnetworks.network.azure.com"


class Cache:
    def __init__(self):
        self.synced = True
        self.versions = {}
        self.document = None

    def has_synced(self):
        return self.synced

    def entry(self, key):
        if self.document is not None:
            return Entry(self.document) if key.name == NAME else None
        version = self.versions.get(key)
        meta = {"name": key.name, "resourceVersion": version}
        return Entry({"metadata": meta}) if version else None


@pytest.fixture
def cache():
    return Cache()


def test_who_calls_us_is_what_is_there_at_its_version(cache, clock):
    made = Definitions(cache, builtin(), installed=(), clock=clock)
    assert made.targets() == []
    cache.versions = {ObjectKey("", NAME): "7", ObjectKey("", "other.example.com"): "8"}
    (caller,) = made.targets()
    assert (caller.name, caller.version) == (NAME, "7")


def test_readiness_waits_for_what_is_to_be_installed(cache, clock):
    made = Definitions(cache, builtin(), installed=[VNET], clock=clock)
    cache.synced = False
    assert not made.ready().ok
    cache.synced = True
    verdict = made.ready()
    assert not verdict.ok
    assert verdict.details == (f"{NAME}: not installed yet",)
    cache.versions = {ObjectKey("", NAME): "7"}
    assert made.ready().ok


def test_crds_that_the_leader_s_release_does_not_know_are_not_waited_for(cache, clock):
    leader = LeaderNote("asoreconcile-0.0.9")
    made = Definitions(
        cache, builtin(), installed=[VNET], clock=clock, leader=lambda: leader
    )
    assert made.ready().ok
    leader = LeaderNote(BUILD)
    assert not made.ready().ok


def test_what_is_never_installed_is_shown_and_holds_up_nobody_for_ever(cache, clock):
    made = Definitions(cache, builtin(), installed=[VNET], clock=clock)
    clock.advance(120)
    verdict = made.ready()
    assert verdict.ok
    assert verdict.details == (f"{NAME}: not installed yet",)


def test_a_crd_that_trusts_another_authority_than_ours_is_named(cache, clock):
    """The second of two replicas with certificates of two authorities meets it."""
    ours, theirs = (certificate_authority().pem for _ in range(2))

    def named(trusted):
        hook = WebhookClient(url="https://a:1", ca_bundle=b64encode(trusted).decode())
        document = crd(VNET, versions=VNET.versions, conversion=hook)
        cache.document = reduced(document)
        found = Definitions(cache, builtin(), installed=(), clock=clock)
        return found.distrusting(called(document), fingerprints(ours))

    assert named(theirs) == NAME
    assert named(theirs + ours) == ""
    cache.document = reduced(crd(VNET))
    assert not Definitions(cache, builtin(), installed=(), clock=clock).distrusting(
        ("https://a:1",), ()
    )
