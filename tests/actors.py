"""Terraform, Azure Policy and a colleague in the portal, who write one resource.

Seeded draws. Each writer changes a public IP address in the simulator behind the
operator's back; `Contested` knows the values that must be left in the end.
"""

import random
from typing import Any

from asoreconcile.azure.reconcile.model.annotations import IGNORE_FIELDS
from asoreconcile.base.objects import JsonObject, copy_json

IGNORED = "spec.idleTimeoutInMinutes, spec.tags.costcenter"


class Contested:
    """One object, the other writers of its resource, and the values of each.

    id: id of the resource, once it is known.
    """

    def __init__(self, azure: Any, seed: int) -> None:
        self.azure, self.rng = azure, random.Random(seed)
        self.name = f"pip{seed}"
        self.own = {"team": "red"}
        self.foreign: dict[str, str] = {}
        self.minutes = 4
        self.id = ""
        self.done: list[str] = []

    def manifest(self) -> JsonObject:
        return {
            "apiVersion": "network.azure.com/v20250301",
            "kind": "PublicIPAddress",
            "metadata": {
                "name": self.name,
                "annotations": {IGNORE_FIELDS: IGNORED},
            },
            "spec": {
                "location": "westeurope",
                "owner": {"name": "rg"},
                "sku": {"name": "Standard"},
                "idleTimeoutInMinutes": 4,
                "tags": {**self.own, "costcenter": "spec"},
            },
        }

    def by_hand(self, tags: dict[str, str], **changes: object) -> None:
        body = copy_json(self.azure.resources()[self.id])
        body["tags"] = {**body.get("tags", {}), **tags}
        body["properties"] = {**body["properties"], **changes}
        self.azure.seed(self.id, body)

    def terraform(self) -> None:
        self.minutes = self.rng.randint(5, 30)
        self.by_hand({}, idleTimeoutInMinutes=self.minutes)

    def policy(self) -> None:
        name = self.rng.choice(["env", "created-by", "costcenter"])
        self.foreign[name] = str(self.rng.random())
        self.by_hand({name: self.foreign[name]})

    def colleague(self) -> None:
        self.by_hand({"team": "blue"})

    def change_spec(self) -> None:
        self.own["rev"] = str(self.rng.random())

    def require_kept(self) -> None:
        """Raises AssertionError unless each writer's values are left."""
        have = self.azure.resources()[self.id]
        assert have["properties"]["idleTimeoutInMinutes"] == self.minutes, self.done
        wanted = {"costcenter": "spec", **self.own, **self.foreign}
        assert have["tags"] == wanted, self.done
