"""Runs a plan of `lifeplan`: people, other writers, faults, and the operator in between.

The watches' own event handlers wake objects, a queue with fake time runs them, and
`promises` judges each write and each rest. Nothing runs by itself, so a plan is the
whole life again.
"""

import base64
from collections import Counter
from collections.abc import Callable
from typing import Any

import attrs
from globalconnection import GlobalConnection
from lifeplan import DAY, HOUR, NEEDS, WINDOW_HOUR, Step
from promises import Promises
from taps import ArmTap, CrashError, KubeTap
from world import World, resource_group, virtual_network

from asoreconcile.azure.arm import ids
from asoreconcile.azure.catalogue.storage_codec import SingleVersionCodec
from asoreconcile.azure.controllers.event_mapping import EventMapping
from asoreconcile.azure.controllers.kind_registry import needs_reconcile
from asoreconcile.azure.reconcile.model.annotations import (
    ALLOW_OWNER_CHANGE,
    ALLOWED_TYPES,
    DELETION_PROTECTION,
    MAINTENANCE_WINDOWS,
    PAUSED,
)
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.azure.reconcile.state.dependency_index import DependencyIndex
from asoreconcile.azure.reconcile.state.waiting import Waiting
from asoreconcile.base.jsontext import loads
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    copy_json,
    is_deleting,
    key_of,
)
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added, Deleted, Updated
from asoreconcile.kube.errors import ApiError, NotFoundError, TransportError
from asoreconcile.kube.resources import NAMESPACES, SECRETS, ApiResource
from asoreconcile.testing.http import HttpRequest
from asoreconcile.testing.kube.access.users import ADMIN

KINDS = (
    "resources.azure.com/ResourceGroup",
    "network.azure.com/VirtualNetwork",
    "network.azure.com/RouteTable",
    "network.azure.com/RouteTablesRoute",
    "storage.azure.com/StorageAccount",
)
# A failure that waits for others is tried again after three minutes.
_LONG_SECONDS = 170.0
_HOLDS = (DELETION_PROTECTION, PAUSED, MAINTENANCE_WINDOWS, ALLOWED_TYPES)
_ROUNDS = 160
_SOON_SECONDS = 150.0
_TAGGED = ("group", "newgroup", "net", "twin", "elsewhere", "table", "account")


class Life:
    """One life in Namespaces of its own. Raises AssertionError for a broken promise.

    number: makes the names of this life. reasons: number of reasons for a PUT by role.
    """

    def __init__(self, world: World, number: int) -> None:
        self.world, self.number = world, number
        self.story: list[str] = []
        self.spaces = {"namespace": f"a{number}", "other": f"b{number}"}
        self.editions: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.specs: dict[str, JsonObject] = {}
        self.owners: dict[str, str] = {}
        self.acting = ""
        self._asked = 0
        self._crash: list[int] | None = None
        self._due: dict[str, float] = {}
        self._entries: dict[ObjectReference, Entry] = {}
        self._objects: dict[str, JsonObject] = {}
        for space in self.spaces.values():
            world.client.create(NAMESPACES, {"metadata": {"name": space}})
        self.promises = Promises(self)
        self._start()

    def live(self, steps: list[Step]) -> None:
        """Do the steps, and end: everything is let go and deleted."""
        for step in steps:
            self.story.append(str(step))
            self._act(step)
            self._run(_SOON_SECONDS)
        self._rest()
        self._wind_down()

    @property
    def has_read_faults(self) -> bool:
        """Return whether Azure was to refuse a read in this life."""
        return any(one.startswith("fault = GET") for one in self.story)

    # The estate.

    def manifest(self, role: str) -> JsonObject:
        number, space = self.number, "other" if role == "elsewhere" else "namespace"
        owner = self.owners.get(role, f"group{number}")
        match role:
            case "group" | "newgroup":
                made = resource_group(f"{role}{number}", azureName=f"group{number}")
            case "net" | "twin" | "elsewhere":
                made = virtual_network(f"{role}{number}", owner, azureName="net")
            case "table":
                made = _network_object("RouteTable", f"{role}{number}", owner)
            case "route":
                made = _network_object(
                    *("RouteTablesRoute", f"{role}{number}", f"table{number}"),
                    addressPrefix=f"10.{self.editions[role]}.0.0/16",
                    nextHopType="VnetLocal",
                )
            case _:
                made = _account(f"account{number}", owner)
        if role == "elsewhere":
            made["spec"]["owner"] = {"armId": self.group_id}
        if role in _TAGGED:
            tags = {"edition": str(self.editions[role]), "team": "red", "ignored": "x"}
            made["spec"]["tags"] = {**tags, "by": role}
        if role == "table":
            made["spec"]["location"] = "westeurope"
        made["metadata"]["namespace"] = self.spaces[space]
        return made

    @property
    def group_id(self) -> str:
        subscription = self.world.azure.subscription_id
        return f"/subscriptions/{subscription}/resourceGroups/group{self.number}"

    def id_of(self, role: str) -> str:
        below = f"{self.group_id}/providers/Microsoft."
        number = self.number
        return {
            "group": self.group_id,
            "newgroup": self.group_id,
            "net": f"{below}Network/virtualNetworks/net",
            "twin": f"{below}Network/virtualNetworks/net",
            "elsewhere": f"{below}Network/virtualNetworks/net",
            "table": f"{below}Network/routeTables/table{number}",
            "route": f"{below}Network/routeTables/table{number}/routes/route{number}",
            "account": f"{below}Storage/storageAccounts/account{number}",
        }[role].lower()

    def present(self, role: str) -> JsonObject | None:
        return self._objects.get(role)

    def roles(self) -> dict[str, JsonObject]:
        """Return the objects in the cluster by role, as they were after the last
        step or reconcile.
        """
        return self._objects

    def owner_of(self, role: str) -> str:
        """Return the role of the owner that an object's spec names."""
        named = self.owners.get(role, "group").rstrip("0123456789")
        return "table" if role == "route" else named

    def in_azure(self) -> dict[str, JsonObject]:
        """Return the resources of this life by id in lower case."""
        start = self.group_id.lower()
        found = self.world.azure.resources().items()
        return {
            id_.lower(): body
            for id_, body in found
            if id_.lower() == start or id_.lower().startswith(start + "/")
        }

    def namespace_notes(self, space: str) -> JsonObject:
        node = ObjectReference(GroupKind("", "Namespace"), ObjectKey("", space))
        return dict(self._entries[node].annotations)

    def secret(self) -> JsonObject | None:
        return self._get(SECRETS, self._secret_key)

    @property
    def _secret_key(self) -> ObjectKey:
        return ObjectKey(self.spaces["namespace"], f"keys{self.number}")

    # The steps.

    def _act(self, step: Step) -> None:
        what, at = step.what, step.at
        if what.startswith("note "):
            self._note(at, what.removeprefix("note "), step.value)
        elif what == "time":
            self._pass_time(float(step.value or 0.0))
        elif what == "kill":
            self._crash = [int(step.value or 0)]
            self.reasons.update([*NEEDS] * 2)
        elif what == "restart":
            self._start()
        elif what == "fault":
            method, status, code = str(step.value).split()
            self.world.azure.faults.answer(method, "", int(status), code=code, times=1)
            self.reasons.update([*NEEDS])
        else:
            acts: dict[str, Callable[[str], None]] = {
                "apply": self._apply,
                "delete": self._delete,
                "replace": self._replace,
                "rename owner": self._rename_owner,
                "spoil": self._spoil,
                "foreign value": self._foreign_value,
                "foreign tag": self._foreign_tag,
                "remove": self._remove,
                "make": self._make,
            }
            acts[what](at)
        self._tell()

    def _apply(self, role: str) -> None:
        for needed in NEEDS[role]:
            if self.present(needed) is None and self.present("newgroup") is None:
                self._apply(needed)
        found = self.present(role)
        if found is not None and is_deleting(found):
            return
        self.editions[role] += 1
        self.reasons.update([*NEEDS])
        self.world.apply(self.manifest(role))
        self._tell()

    def _delete(self, role: str) -> None:
        try:
            self.world.delete(self.manifest(role))
        except NotFoundError:
            return
        self.reasons[role] += 1

    def _replace(self, role: str) -> None:
        """Do as `kubectl replace` with the manifest: annotations and finalizers go."""
        found = self.present(role)
        if found is None or is_deleting(found):
            return
        self.reasons.update([*NEEDS])
        self.editions[role] += 1
        wanted = self.manifest(role)
        version = found["metadata"]["resourceVersion"]
        wanted["metadata"]["resourceVersion"] = version
        self.world.client.replace(self.world.resource_for(wanted), wanted)

    def _rename_owner(self, role: str) -> None:
        """Give an object to the other object of its resource group, as the page says."""
        found = self.present(role)
        if found is None or is_deleting(found) or role in {"route", "elsewhere"}:
            return
        self._note(role, ALLOW_OWNER_CHANGE, "true")
        self._tell()
        self._run(60.0)
        self.owners[role] = f"newgroup{self.number}"
        try:
            self._apply(role)
        except ApiError:
            del self.owners[role]  # the schema still refuses the change
            self.editions[role] -= 1
        self._note(role, ALLOW_OWNER_CHANGE, None)

    def _note(self, at: str, name: str, value: str | None) -> None:
        self.reasons.update([*NEEDS])
        if value == "now":
            self._asked += 1
            value = str(self._asked)
        body = {"metadata": {"annotations": {name: value}}}
        if at in self.spaces:
            key = ObjectKey("", self.spaces[at])
            self.world.client.patch(NAMESPACES, key, body)
            return
        manifest = self.manifest(at)
        try:
            self.world.client.patch(
                self.world.resource_for(manifest), key_of(manifest), body
            )
        except NotFoundError:
            self.editions[at] += 1
            manifest = self.manifest(at)
            if value is not None:
                manifest["metadata"]["annotations"] = {name: value}
            for needed in NEEDS[at]:
                if self.present(needed) is None and self.present("newgroup") is None:
                    self._apply(needed)
            self.world.apply(manifest)

    def _spoil(self, _role: str) -> None:
        """Another client changes, or deletes, what was exported."""
        found = self.secret()
        if found is None:
            return
        if len(self.story) % 2:
            self.world.client.delete(SECRETS, self._secret_key)
        else:
            spoiled = base64.b64encode(b"spoiled").decode()
            data = {"data": dict.fromkeys(found.get("data") or {}, spoiled)}
            self.world.client.patch(SECRETS, self._secret_key, data)

    def _foreign_value(self, role: str) -> None:
        self._by_hand(role, {"team": "blue"})

    def _foreign_tag(self, role: str) -> None:
        tag = f"colleague{len(self.story)}"
        if self._by_hand(role, {tag: "theirs"}):
            self.promises.foreign_tag(self.id_of(role), tag)

    def _by_hand(self, role: str, tags: JsonObject) -> bool:
        id_ = self.id_of(role)
        body = self.in_azure().get(id_)
        if body is None or role == "route":
            return False
        self.reasons.update([*NEEDS])
        changed = {**copy_json(body), "tags": {**(body.get("tags") or {}), **tags}}
        self.world.azure.seed(str(body.get("id") or id_), changed)
        return True

    def _remove(self, role: str) -> None:
        found = self.in_azure().get(self.id_of(role))
        if found is not None:
            self.reasons.update([*NEEDS])
            self.world.azure.remove(str(found["id"]))
            self.promises.removed(self.id_of(role))

    def _make(self, role: str) -> None:
        """A colleague makes the resource, if Azure does not have it."""
        have = self.in_azure()
        if role in {"group", "newgroup"} or self.id_of(role) in have:
            return
        above = self.id_of("table") if role == "route" else self.group_id.lower()
        if above not in have:
            return
        id_ = self.group_id + self.id_of(role)[len(self.group_id) :]
        body: JsonObject = {"id": id_, "name": id_.rpartition("/")[2]}
        if role == "route":
            body["properties"] = {
                "addressPrefix": "192.168.0.0/16",
                "nextHopType": "VnetLocal",
            }
        else:
            body |= {"location": "westeurope", "tags": {"made": "theirs"}}
        self.world.azure.seed(id_, body)
        self.promises.made_by_colleague(self.id_of(role))

    # The operator.

    def _start(self) -> None:
        """Start a process: it remembers nothing, and looks at every object."""
        world = self.world
        world.restart()
        self._crash = None
        plain, waiting, dependents = world.make_operator(), Waiting(), DependencyIndex()
        kinds: Any = self
        self._mapping = EventMapping(kinds, dependents, waiting, plain.exported)
        arm: Any = ArmTap(world.arm, lambda id_: id_, self._write, lambda _: None)
        self._operator = attrs.evolve(
            plain,
            client=KubeTap(world.client, {}, self._write),
            connections=GlobalConnection(
                arm, subscription_id=world.azure.subscription_id, source="test/test"
            ),
            sync_mode=SyncMode.COMPARE,
            objects_with_arm_id=self._namesakes,
            waiting=waiting,
            wake_children=self._mapping.wake_children,
            export_loop=dependents.export_loop,
            leads_to=dependents.leads_to,
        )
        self._entries = {}
        self._tell(initial=True)

    def _namesakes(self, arm_id: str) -> Any:
        """Return all objects of the type, as a cache that lags behind nothing has
        them.
        """
        type_ = ids.parse(arm_id).type.lower()
        for obj in [*self._objects.values()]:
            version = self.world.kind_of(obj).version
            if version.arm_type.lower() == type_:
                yield version, obj

    def _write(self, name: str, effect: Callable[[], Any], lost: Exception) -> Any:
        def watched() -> Any:
            self.promises.before(name, self.acting)
            answer = effect()
            self.promises.after(name, self.acting, answer)
            return answer

        if self._crash is not None:
            self._crash[0] -= 1
            if self._crash[0] < 0:
                self._crash = None
                how = len(self.story) % 3
                if how == 0:
                    raise CrashError
                watched()
                raise CrashError if how == 1 else lost
        return watched()

    # The members that `EventMapping` reads of the running kinds.

    def entry(self, node: ObjectReference) -> Entry | None:
        return self._entries.get(node)

    def entries_in(self, namespace: str | None) -> dict[ObjectReference, Entry]:
        return {
            node: entry
            for node, entry in self._entries.items()
            if node.group_kind.group and namespace in {None, node.key.namespace}
        }

    def wake(
        self, node: ObjectReference, _changed: Any, _version: str, is_due: Any
    ) -> None:
        if is_due():
            self._enqueue(node)

    def _enqueue(self, node: ObjectReference) -> None:
        role = node.key.name.rstrip("0123456789")
        if role in NEEDS:
            self._due[role] = self.world.clock.monotonic()

    def _tell(self, *, initial: bool = False) -> None:
        """Pass the events of everything that has changed to the operator's handlers."""
        self._objects = {}
        now = dict(self._cluster())
        before, self._entries = self._entries, now
        for node in before.keys() - now.keys():
            self._hear(node, Deleted(before[node]))
        for node, entry in now.items():
            old = before.get(node)
            if old is None:
                self._hear(node, Added(entry=entry, initial=initial))
            elif old.resource_version != entry.resource_version:
                self._hear(node, Updated(old=old, new=entry))

    def _hear(self, node: ObjectReference, event: Any) -> None:
        if node.group_kind == GroupKind("", "Namespace"):
            return self._mapping.on_namespace(event)
        if not node.group_kind.group:
            return self._mapping.on_secret_or_config_map(node.group_kind, event)
        kind = self.world.kinds()[node.group_kind]
        self._mapping.on_azure_object(SingleVersionCodec(kind.version), event)
        if needs_reconcile(event):
            self._enqueue(node)
        return None

    def _cluster(self) -> Any:
        for space in self.spaces.values():
            key = ObjectKey("", space)
            found = self._get(NAMESPACES, key)
            if found is not None:
                yield ObjectReference(GroupKind("", "Namespace"), key), Entry(found)
            for group_kind, kind in self.world.kinds().items():
                # Only one object of a life is in the other Namespace.
                if space != self.spaces["namespace"] and kind.version.gvk.kind != (
                    "VirtualNetwork"
                ):
                    continue
                yield from self._listed(group_kind, kind.resource, space)
            yield from self._listed(GroupKind("", "Secret"), SECRETS, space)

    def _listed(self, group_kind: GroupKind, resource: ApiResource, space: str) -> Any:
        path = resource.path(space)
        asked = HttpRequest("GET", path, path, {}, {}, b"")
        body = self.world.cluster._answer(asked, ADMIN).body
        assert isinstance(body, bytes)
        for item in loads(body)["items"]:
            kind = {"apiVersion": resource.api_version, "kind": resource.kind}
            obj, key = {**kind, **item}, key_of(item)
            if (role := key.name.rstrip("0123456789")) in NEEDS and group_kind.group:
                self._objects[role] = obj
            yield ObjectReference(group_kind, key), Entry(obj)

    def _get(self, resource: ApiResource, key: ObjectKey) -> JsonObject | None:
        return self.world._read(resource, key)

    # The queue.

    def _run(self, seconds: float) -> None:
        """Reconcile what is due, and let time pass."""
        clock = self.world.clock
        end = clock.monotonic() + seconds
        for _ in range(_ROUNDS):
            due = min(self._due.items(), key=lambda one: one[1], default=None)
            if due is None or due[1] > end:
                clock.advance(max(0.0, end - clock.monotonic()))
                return
            clock.advance(max(0.0, due[1] - clock.monotonic()))
            self._reconcile(due[0])
        message = f"never at rest: {self._due} {self._shown()}"
        raise AssertionError(message)

    def _pass_time(self, seconds: float) -> None:
        """Let a long time pass in two jumps: to the next window, and to its end.

        Objects that are due in between are late, as if the process had been busy.
        """
        clock = self.world.clock
        opens = (WINDOW_HOUR * HOUR - clock.monotonic()) % DAY + 60.0
        for jump in (opens, seconds - opens) if opens < seconds else (seconds,):
            clock.advance(jump)
            self._run(_SOON_SECONDS)

    def _reconcile(self, role: str) -> None:
        self.acting = role
        del self._due[role]
        seconds: float | None = None
        try:
            manifest = self.manifest(role)
            result = self.world.run_once(manifest, operator=self._operator)
            seconds = result.requeue_after_seconds
        except CrashError:
            self.story.append("  (the process dies)")
            self._start()
            return
        except (ApiError, TransportError):
            seconds = 1.0
        finally:
            self.acting = ""
            self.promises.require_kept()
        now = self.world.clock.monotonic()
        if seconds is not None:
            self._due[role] = min(self._due.get(role, now + seconds), now + seconds)
        self._tell()
        self.promises.note_gone(self.roles())

    def _rest(self) -> None:
        """Let faults end, and a day pass, and look at everything."""
        self._crash = None
        self.world.azure.faults.clear()
        self._run(_SOON_SECONDS)
        self._pass_time(DAY)
        self.promises.at_rest()

    def _wind_down(self) -> None:
        """Lift what holds deletions, and delete everything."""
        self.story.append("(everything is let go and deleted)")
        for space in self.spaces:
            for name in _HOLDS:
                self._note(space, name, None)
        for role in self.roles():
            for name in _HOLDS:
                self._note(role, name, None)
        self._tell()
        self._run(_SOON_SECONDS)
        for role in ("route", "account", "table", "twin", "elsewhere", "net"):
            self._delete(role)
            self._tell()
            self._run(30.0)
        for role in ("newgroup", "group"):
            self._delete(role)
            self._tell()
        self._run(_SOON_SECONDS)
        self._pass_time(HOUR)
        self.promises.at_the_end()

    def clear(self) -> None:
        """Take everything away, whatever it is, for the next life."""
        for role in self.roles():
            manifest = self.manifest(role)
            resource, key = self.world.resource_for(manifest), key_of(manifest)
            self.world.client.patch(resource, key, {"metadata": {"finalizers": None}})
            self._delete(role)
        self.world.azure.faults.clear()
        self.world.azure.remove(self.group_id)
        self.world.events.clear()

    def _shown(self) -> JsonObject:
        return {role: self.world.ready(found) for role, found in self.roles().items()}


def _network_object(kind: str, name: str, owner: str, **spec: Any) -> JsonObject:
    return {
        "apiVersion": "network.azure.com/v20250301",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"owner": {"name": owner}, **spec},
    }


def _account(name: str, owner: str) -> JsonObject:
    keys = {"key1": {"name": name.replace("account", "keys"), "key": "key"}}
    return {
        "apiVersion": "storage.azure.com/v20250601",
        "kind": "StorageAccount",
        "metadata": {"name": name},
        "spec": {
            "owner": {"name": owner},
            "location": "westeurope",
            "kind": "StorageV2",
            "sku": {"name": "Standard_LRS"},
            "operatorSpec": {"secrets": keys},
        },
    }
