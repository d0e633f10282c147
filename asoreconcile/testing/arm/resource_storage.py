"""Writes and removals of resources, with their children and soft-deleted vaults."""

from asoreconcile.base.objects import JsonObject, copy_json
from asoreconcile.testing.arm import outputs
from asoreconcile.testing.arm.address import ArmAddress, parse
from asoreconcile.testing.arm.children import asked_for, born_with
from asoreconcile.testing.arm.dependants import check_unused
from asoreconcile.testing.arm.resources import EMBEDDED, ArmResource, collection_of
from asoreconcile.testing.arm.simulation import Simulation


class ResourceStorage:
    """Writes and removals. The caller holds the server's lock."""

    def __init__(self, simulation: Simulation) -> None:
        self._tenant_id = simulation.tenant_id
        self._clock = simulation.clock
        self._styles = simulation.styles
        self._resources = simulation.resources
        self._operations = simulation.operations
        self._vaults = simulation.vaults

    def seed(self, address: ArmAddress, body: JsonObject, *, state: str = "") -> None:
        """Store a resource without a request.

        state: its provisioningState; "" is the state after a completed operation.
        """
        present = self._resources.find(address.id)
        resource = self.store(address, body, present)
        resource.enter(state or self._styles[address.type].done)

    def store(
        self,
        address: ArmAddress,
        body: JsonObject,
        present: ArmResource | None,
        *,
        keeps_children: bool = False,
    ) -> ArmResource:
        """Write a resource as it was sent, create the children in its body, and return
        it.

        present: the resource that has this id now; None makes a new one.
        keeps_children: if true, child resources stay as they are, whatever the body
        has.
        """
        if present is not None:
            address = present.address  # The id keeps the casing of the first write.
        else:
            address = self._resources.born(address)
        kept = copy_json(body)
        embedded = {
            collection_of(path): _taken_out(kept.get("properties"), path)
            for path in EMBEDDED.get(address.type, ())
        }
        shown = outputs.shown(address, kept, tenant_id=self._tenant_id)
        is_new = present is None
        if present is None:
            present = ArmResource(address, shown, copy_json(body))
            self._resources.put(present)
        else:
            present.body, present.sent = shown, copy_json(body)
        present.written_at = self._clock.monotonic()
        present.changed_at = f"{self._clock.now():%Y-%m-%dT%H:%M:%S.%fZ}"
        present.created_at = present.created_at or present.changed_at
        for name, items in () if keeps_children else embedded.items():
            self._replace_children(address, name, items)
        for child, content in born_with(address) if is_new else ():
            self._make(child, content)
        for child, content in asked_for(address, shown):
            self._make(child, content)
        return present

    def _make(self, address: ArmAddress, body: JsonObject) -> None:
        if self._resources.find(address.id) is None:
            self.seed(address, body)

    def _replace_children(
        self, parent: ArmAddress, collection: str, items: list[JsonObject]
    ) -> None:
        wanted = {str(item.get("name")).lower() for item in items}
        for child in self._resources.children(parent, collection):
            if child.address.name.lower() not in wanted:
                check_unused(self._resources, child.address)
                self.remove(child)
        for item in items:
            address = parse(f"{parent.id}/{collection}/{item.get('name')}")
            if address is not None:
                # A child that was being deleted exists again, so its deletion must end.
                self._operations.drop_delete(address.key)
                self.seed(address, item)

    def remove(self, resource: ArmResource) -> None:
        """Delete a resource with everything below it, and forget their operations.

        A vault is recorded as soft-deleted, so that its name stays taken (I7).
        """
        key = resource.address.key
        for gone in self._resources.remove(key):
            self._vaults.note_removed(gone)
            made = {address.key for address, _ in asked_for(gone.address, gone.body)}
            others = self._resources.of_type(gone.address.type) if made else []
            for other in others:
                made -= {a.key for a, _ in asked_for(other.address, other.body)}
            for key_made in made:
                self._resources.remove(key_made)
        self._operations.drop(key)
        self._operations.forget(f"{key}/")


def _taken_out(properties: JsonObject | None, path: str) -> list[JsonObject]:
    *above, leaf = path.split(".")
    holder = properties
    for part in above:
        holder = holder.get(part) if isinstance(holder, dict) else None
    found = holder.pop(leaf, None) if isinstance(holder, dict) else None
    return found or []
