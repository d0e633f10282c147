"""Compute the changes that a reconcile would make in Entra, for `asoctl plan`."""

from collections.abc import Callable, Iterator, Mapping

import attrs

from asoreconcile.azure.catalogue.payload import Inputs
from asoreconcile.azure.entra.decisions import entry_of, facts_of, must_decide
from asoreconcile.azure.entra.desired import changes_of
from asoreconcile.azure.entra.kinds import kind_of
from asoreconcile.azure.entra.links import link_changes, object_ids
from asoreconcile.azure.entra.rendering import described_object
from asoreconcile.azure.graph.client import GraphClient, GroupLink
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.existence import (
    IF_EXISTS,
    IfExists,
    require_adoptable,
    stated_policy,
)
from asoreconcile.azure.reconcile.planning.planned_change import (
    FieldChange,
    PlannedChange,
)
from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import JsonObject, spec
from asoreconcile.base.printable import listed


@attrs.frozen
class EntraPlanner:
    """Plans for the kinds of Entra. graph: returns the client to read with, made on
    first use.
    """

    graph: Callable[[], GraphClient]
    clock: Clock

    def __call__(
        self,
        plan: PlannedChange,
        obj: JsonObject,
        inputs: Inputs,
        inherited: Mapping[str, str],
    ) -> PlannedChange:
        """Return the plan with the changes. Blocking: a few reads. inherited:
        annotations of the Namespace.

        Raises the client's errors, and as `entry_of`.
        """
        entry = entry_of(facts_of(obj, now=self.clock.now()), self.graph)
        if entry is not None:
            choice = stated_policy(annotations(obj), inherited) or IfExists.ADOPT
            return self._compared(plan, obj, inputs, entry, choice)
        body = described_object(obj, inputs)["body"]
        return attrs.evolve(
            plan, action="create", why="Entra does not have it", sent=body
        )

    def _compared(
        self,
        plan: PlannedChange,
        obj: JsonObject,
        inputs: Inputs,
        entry: JsonObject,
        choice: IfExists,
    ) -> PlannedChange:
        kind, entry_id = kind_of(obj), str(entry["id"])
        desired = kind.desired(spec(obj))
        kind.require_possible(spec(obj), entry)
        changes = [
            FieldChange(name, "Entra has another value", value, entry.get(name))
            for name, value in changes_of(desired, entry).items()
        ]
        for link in kind.links:
            ids = object_ids(spec(obj), link, inputs.config_map)
            if ids is not None:
                changes += _links(link, ids, self.graph().linked(entry_id, link))
        plan = attrs.evolve(plan, arm_id=entry_id, changes=tuple(changes), found=entry)
        if desired.is_only_read:
            why = "creationMode is AdoptOnly"
            return attrs.evolve(plan, action="no change", why=why)
        differs = listed(sorted({one.path for one in changes}))
        if must_decide(obj, entry) and not require_adoptable(
            choice, f"the {desired.noun} {entry_id}", differs=differs
        ):
            why = f"{IF_EXISTS} is observe, and the {desired.noun} was there before"
            return attrs.evolve(plan, action="no change", why=why)
        if changes:
            return attrs.evolve(plan, action="update")
        return attrs.evolve(plan, action="no change", why="Entra has all of it")


def _links(
    link: GroupLink, desired: tuple[str, ...], present: list[str]
) -> Iterator[FieldChange]:
    found = link_changes(desired, present, most=len(desired) + len(present))
    for id_ in found.added:
        yield FieldChange(link, "the group lacks it", want=id_)
    for id_ in found.removed:
        rule = "the group has it and the manifest does not"
        yield FieldChange(link, rule, have=id_)
