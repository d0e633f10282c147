"""A storage rewrite that outlasts continue tokens and an interruption."""

from itertools import islice

import pytest

from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.stored_versions import StoredVersions
from asoreconcile.base import reconcile_context
from asoreconcile.base.errors import StoppedError
from asoreconcile.base.objects import GroupKind, ObjectKey, copy_json
from asoreconcile.base.reconcile_context import Context
from asoreconcile.base.stop_signal import StopSignal
from asoreconcile.kube.client import Page
from asoreconcile.kube.errors import ExpiredError
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from asoreconcile.runtime.reconciler import Request, Result
from asoreconcile.testing.clock import FakeClock

VNET = builtin().kind(GroupKind("network.azure.com", "VirtualNetwork"))
NAME = "virtualnetworks.network.azure.com"
OLD, NEW = "v1api20240301", "v20250301"
OBJECTS = 20_000
WRITE_SECONDS = 0.02
# etcd's compaction: a list can be continued for so long.
TOKEN_SECONDS = 300.0


class Api:
    """An API server with many objects, whose every write takes a moment."""

    def __init__(self, clock, *, renews_tokens):
        self.clock, self.renews_tokens = clock, renews_tokens
        self.definition = copy_json(crd(VNET, versions=[OLD, NEW], storage=NEW))
        self.definition["metadata"] |= {"generation": 1, "annotations": {}}
        self.definition["status"] = {"storedVersions": [OLD, NEW]}
        names = [f"o{n:05}" for n in range(OBJECTS)]
        self.objects = [{"metadata": {"namespace": "n", "name": o}} for o in names]
        self.written, self.expired = [], 0
        self.before_write = lambda: None

    def get(self, _resource, _key):
        return copy_json(self.definition)

    def list_page(self, _what, place):
        began, _, start = place.continue_token.rpartition("@")
        since = float(began or self.clock.monotonic())
        if self.clock.monotonic() - since > TOKEN_SECONDS:
            self.expired += 1
            error = ExpiredError("the token is too old", status=410)
            if self.renews_tokens:
                error.continue_token = f"{self.clock.monotonic()}@{start}"
            raise error
        end = int(start or 0) + place.limit
        token = f"{since}@{end}" if end < OBJECTS else ""
        return Page([*islice(self.objects, int(start or 0), end)], "1", token)

    def patch(self, resource, key, change, **_options):
        if resource is CUSTOM_RESOURCE_DEFINITIONS:
            notes = change["metadata"].get("annotations") or {}
            self.definition["metadata"]["annotations"] |= notes
            self.definition["status"] |= change.get("status") or {}
            return
        self.before_write()
        self.clock.advance(WRITE_SECONDS)
        self.written.append(key.name)


def look(api, stopping):
    """Reconcile the CRD, as the worker of a new leader does."""
    keeper = StoredVersions(api, clock=api.clock, settle_seconds=0.0)
    with reconcile_context.running(Context(api.clock, stop=stopping)):
        return keeper.reconcile(Request(ObjectKey("", NAME)))


@pytest.mark.parametrize("renews_tokens", [True, False], ids=["renewed", "anew"])
def test_a_long_rewrite_ends_shows_progress_and_is_resumed(renews_tokens, caplog):
    caplog.set_level("INFO")
    api, stopping = Api(FakeClock(), renews_tokens=renews_tokens), StopSignal()

    def stop_late():
        if len(api.written) == OBJECTS - 700:
            stopping.stop(0.0)

    api.before_write = stop_late
    with pytest.raises(StoppedError):
        look(api, stopping)
    assert api.definition["status"]["storedVersions"] == [OLD, NEW]
    assert api.expired, "the rewrite outlasted its token"
    assert look(api, StopSignal()) == Result()
    assert api.definition["status"]["storedVersions"] == [NEW]
    assert {*api.written} == {o["metadata"]["name"] for o in api.objects}
    again = len(api.written) - OBJECTS
    assert again < 500, "a page at most was written twice"
    shown = [one.getMessage() for one in caplog.records]
    assert sum("stored in another version" in text for text in shown) >= 39
