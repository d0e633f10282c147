"""The objects of one trial: a resource group and a server, in a cluster and in Azure.

This module also makes the changes that people make. The server takes its password from
a Secret and exports its host name to two objects. Each edition of a spec has its number
in a tag, so that Azure's copy shows its edition.
"""

import base64
from collections import Counter
from typing import Any

from world import postgres_server, resource_group

from asoreconcile.azure.reconcile.model.annotations import (
    FINALIZER,
    LATEST_RECONCILED_GENERATION,
    OPERATOR_NAMESPACE,
    POLLER_ID,
    POLLER_TOKEN,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.conditions import find_ready
from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    annotations,
    finalizers,
    generation,
    is_deleting,
    owner_references,
    uid_of,
)
from asoreconcile.kube.errors import NotFoundError
from asoreconcile.kube.resources import CONFIG_MAPS, SECRETS

ROLES = ("group", "server")
_REMOVED = {
    "id-removed": (RESOURCE_ID,),
    "token-removed": (POLLER_TOKEN, POLLER_ID),
    "note-removed": (LATEST_RECONCILED_GENERATION,),
    "mark-removed": (OPERATOR_NAMESPACE,),
}
# The operator gets no event about these changes: the next sync finds them.
UNSEEN = {"token-removed", "note-removed", "detached"}


class Estate:
    """The two objects of a trial.

    wanted: roles of objects that the user wants.
    exempt: roles whose resource may stay in Azure, because of a person's action.
    woken: roles that an event has reached; the caller empties this.
    reasons: number of reasons for a reconcile, by role.
    """

    def __init__(self, world: Any, name: str) -> None:
        self.world = world
        self.objs = {
            "group": resource_group(f"rg-{name}", tags={"edition": "1"}),
            "server": _server(name),
        }
        self.names = {f"rg-{name}": "group", f"db-{name}": "server"}
        self.wanted: set[str] = set()
        self.exempt: set[str] = set()
        self.woken: dict[str, float] = {}
        self.reasons: Counter[str] = Counter()
        self._secret_name = f"pw-{name}"
        self._out_name = f"out-{name}"
        self._passwords = 0
        self._editions: dict[tuple[str, int], int] = {}

    # The actions of people.

    def apply(self, role: str) -> None:
        self._note_edition(self.world.apply(self.objs[role], marked=False))
        self.wanted.add(role)
        self.wake(role)

    def edit(self, role: str) -> None:
        tags = self.objs[role]["spec"]["tags"]
        tags["edition"] = str(int(tags["edition"]) + 1)
        self.apply(role)

    def delete(self, role: str) -> None:
        self.wanted.discard(role)
        try:
            self.world.delete(self.objs[role])
        except NotFoundError:
            return
        self.wake(role)
        present = self.present(role)
        if present is not None:
            self._note_edition(present)

    def rotate(self) -> None:
        self._passwords += 1
        encoded = base64.b64encode(self.password.encode()).decode()
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": self._secret_name},
            "data": {"p": encoded},
        }
        self.world.apply(secret, marked=False)
        self.wake("server")

    def change(self, change: str, role: str) -> None:
        """Do the change of `matrix.CHANGES` to the object of a role."""
        match change:
            case "nothing":
                return
            case "edited":
                if role in self.wanted:
                    self.edit(role)
            case "deleted":
                for each in ("server", "group") if role == "group" else ("server",):
                    self.delete(each)
            case "finalizer-stripped":
                self._strip(role)
            case "detached":
                self._annotate(role, {RECONCILE_POLICY: "detach-on-delete"})
                self.exempt.add(role)
            case "recreated":
                self._recreate(role)
            case "owner-recreated":
                self._recreate("group")
            case "rotated":
                self.rotate()
            case _:
                # R5.2: without its id the resource is known by the recorded claim.
                self._annotate(role, dict.fromkeys(_REMOVED[change]))
                if change not in UNSEEN:
                    self.wake(role)

    def collect_garbage(self) -> None:
        """Delete exports whose owner is gone, as Kubernetes does a little later."""
        server = self.present("server")
        uid = "" if server is None else uid_of(server)
        for resource in (SECRETS, CONFIG_MAPS):
            key = ObjectKey("default", self._out_name)
            try:
                found = self.world.client.get(resource, key)
            except NotFoundError:
                continue
            if all(owner["uid"] != uid for owner in owner_references(found)):
                self.world.client.delete(resource, key)
                self.wake("server")

    def wake(self, role: str) -> None:
        """Record that an event reached the operator, or that a sync is due."""
        self.woken[role] = 0.0
        self.reasons[role] += 1

    def _recreate(self, role: str) -> None:
        """Recreate an object by force: delete it, remove the finalizer,
        apply it again.
        """
        wanted = role in self.wanted
        self.delete(role)
        self._strip(role)
        if wanted:
            self.exempt.discard(role)
            self.apply(role)

    def _strip(self, role: str) -> None:
        present = self.present(role)
        if present is None:
            return
        if is_deleting(present):
            self.exempt.add(role)  # the object is deleted without a request to Azure
        self._patch(present, {"finalizers": None})
        self.wake(role)

    def _annotate(self, role: str, notes: dict[str, str | None]) -> None:
        present = self.present(role)
        if present is not None:
            self._patch(present, {"annotations": notes})

    def _patch(self, present: JsonObject, meta: JsonObject) -> None:
        resource = self.world.resource_for(present)
        self.world.client.patch(resource, key_of(present), {"metadata": meta})

    # The state of the cluster and of Azure.

    @property
    def password(self) -> str:
        return f"secret-{self._passwords}"

    def role_of(self, obj: JsonObject) -> str:
        return self.names[obj["metadata"]["name"]]

    def present(self, role: str) -> JsonObject | None:
        found: JsonObject | None = self.world.read(self.objs[role])
        return found

    def is_calm(self, role: str) -> bool:
        """Return whether the cluster shows that nothing is left to do."""
        present = self.present(role)
        if present is None:
            return True
        ready = find_ready((present.get("status") or {}).get("conditions")) or {}
        return (
            not is_deleting(present)
            and ready.get("status") == "True"
            and ready.get("observedGeneration") == generation(present)
        )

    def arm_id(self, role: str) -> str:
        subscription = self.world.azure.subscription_id
        group = self.objs["group"]["metadata"]["name"]
        id_ = f"/subscriptions/{subscription}/resourceGroups/{group}"
        if role == "group":
            return id_
        name = self.objs["server"]["metadata"]["name"]
        return f"{id_}/providers/Microsoft.DBforPostgreSQL/flexibleServers/{name}"

    def in_azure(self, role: str) -> JsonObject | None:
        """Return the resource's body, or None."""
        resources: dict[str, JsonObject] = self.world.azure.resources()
        return resources.get(self.arm_id(role))

    def edition(self, role: str) -> int:
        """Return the edition that the user wants."""
        return int(self.objs[role]["spec"]["tags"]["edition"])

    def edition_at(self, present: JsonObject, number: int) -> int:
        """Return the edition of an object's spec at a generation."""
        uid = uid_of(present)
        known = {g: e for (of, g), e in self._editions.items() if of == uid}
        return max(edition for at, edition in known.items() if at <= number)

    def shown(self, role: str) -> str:
        """Return the parts of an object that matter for a failure's message."""
        present = self.present(role)
        if present is None:
            return f"{role}: gone"
        notes = {name: text[:60] for name, text in annotations(present).items()}
        held = FINALIZER in finalizers(present)
        ready = self.world.ready(present)
        return f"{role}: generation {generation(present)}, {held=}, {notes}, {ready}"

    def _note_edition(self, present: JsonObject) -> None:
        edition = int(present["spec"]["tags"]["edition"])
        self._editions[uid_of(present), generation(present)] = edition


def key_of(obj: JsonObject) -> ObjectKey:
    return ObjectKey("default", obj["metadata"]["name"])


def role_of_id(arm_id: str) -> str:
    return "server" if "/flexibleServers/" in arm_id else "group"


def _server(name: str) -> JsonObject:
    server: JsonObject = postgres_server(f"db-{name}", f"rg-{name}")
    out = {"fullyQualifiedDomainName": {"name": f"out-{name}", "key": "host"}}
    server["spec"].update(
        administratorLoginPassword={"name": f"pw-{name}", "key": "p"},
        tags={"edition": "1"},
        operatorSpec={"secrets": out, "configMaps": out},
    )
    return server
