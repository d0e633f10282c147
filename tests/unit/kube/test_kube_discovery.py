"""Kinds as the server tells them, also those that come while we run."""

import pytest

from asoreconcile.base.objects import GroupKind
from asoreconcile.kube.discovery import Discovery, UnknownKindError
from asoreconcile.kube.errors import NotFoundError

GROUP = "demo.example.com"


class Server:
    """One group, whose kinds the test says."""

    def __init__(self, *kinds):
        self.kinds = list(kinds)
        self.reads = 0

    def read(self, path):
        self.reads += 1
        if not path.startswith(f"/apis/{GROUP}"):
            raise NotFoundError("404 page not found", status=404)
        if path == f"/apis/{GROUP}":
            version = {"version": "v1"}
            return {"versions": [version], "preferredVersion": version}
        return {
            "resources": [
                {"name": f"{kind.lower()}s", "kind": kind, "namespaced": True}
                for kind in self.kinds
            ]
        }


def test_cl7_a_kind_that_comes_later_is_found():
    server = Server("Widget")
    discovery = Discovery(server)
    assert discovery.resource(GroupKind(GROUP, "Widget")).plural == "widgets"
    with pytest.raises(UnknownKindError):
        discovery.resource(GroupKind(GROUP, "Gadget"))
    server.kinds.append("Gadget")
    assert discovery.resource(GroupKind(GROUP, "Gadget")).plural == "gadgets"


def test_cl7_what_is_known_is_not_asked_again():
    server = Server("Widget")
    discovery = Discovery(server)
    for _ in range(3):
        discovery.resource(GroupKind(GROUP, "Widget"))
    assert server.reads == 2
