"""What a PUT of each object would change in Azure, without sending one.

For people who want to see it first: `asoctl plan`. One GET an object; the body is the
one that the operator would send, but for what only its extensions add. Nothing is
written, and no value of a Secret is read or shown.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, Protocol

import attrs

from asoreconcile.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.annotations import RECONCILE_POLICY
from asoreconcile.azure.differences import (
    HIDDEN,
    Difference,
    DifferenceKind,
    differences,
)
from asoreconcile.azure.drift_reads import child_collections
from asoreconcile.azure.normalization import is_same
from asoreconcile.azure.policy import Policy
from asoreconcile.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.catalogue.payload import to_arm
from asoreconcile.catalogue.resolution import Resolution
from asoreconcile.catalogue.status import status_of
from asoreconcile.errors import AsoreconcileError
from asoreconcile.objects import GroupKind, JsonObject, annotations, gvk_of, key_of
from asoreconcile.objects import spec as spec_of

ChangeAction = Literal["no change", "create", "update", "replace needed", "cannot tell"]

_STEP = re.compile(r"([^/\[\]]+)|\[([^\]]*)\]")
_RULES: Mapping[DifferenceKind, str] = {
    "absent": "Azure does not have it",
    "value": "Azure has another value",
    "shape": "Azure has another type of value",
    "list-missing": "the list lacks it",
    "list-extra": "the list has it and the manifest does not",
    "map-extra": "the map has it and the manifest does not",
}


class ArmReader(Protocol):
    """What a plan asks of ARM (`arm.client.ArmClient`)."""

    def get(self, arm_id: str, api_version: str, /) -> JsonObject:
        """The resource's body. Blocking; raises ArmError, ArmTransportError."""


@attrs.frozen
class FieldChange:
    """path: in the ARM body. rule: why it counts as a change.

    want, have: None where there is no value on that side.
    """

    path: str
    rule: str
    want: Any = None
    have: Any = None


@attrs.frozen
class PlannedChange:
    """What would happen to the resource of one object.

    why: for everything but an update, in words. write_only: paths that Azure never
    shows, so that they were not compared.
    """

    kind: GroupKind
    namespace: str
    name: str
    action: ChangeAction
    arm_id: str = ""
    api_version: str = ""
    why: str = ""
    changes: tuple[FieldChange, ...] = ()
    write_only: tuple[str, ...] = ()

    def to_json(self) -> JsonObject:
        """The change as `asoctl plan --output json` prints it."""
        return {
            "kind": str(self.kind),
            "namespace": self.namespace,
            "name": self.name,
            "action": self.action,
            "armId": self.arm_id,
            "apiVersion": self.api_version,
            "why": self.why,
            "changes": [attrs.asdict(change) for change in self.changes],
            "writeOnly": [*self.write_only],
        }


@attrs.frozen
class _HiddenSecrets:
    """References and ConfigMaps as they are; of Secrets only that they are there."""

    resolution: Resolution
    namespace: str

    def reference(self, reference: JsonObject, /) -> str:
        return self.resolution.inputs(self.namespace).reference(reference)

    def config_map(self, reference: JsonObject, /) -> str:
        return self.resolution.inputs(self.namespace).config_map(reference)

    def secret(self, _reference: JsonObject, /) -> str:
        return HIDDEN

    def secret_map(self, _reference: JsonObject, /) -> Any:
        return HIDDEN


def planned_change(
    obj: JsonObject, *, catalogue: Catalogue, resolution: Resolution, client: ArmReader
) -> PlannedChange:
    """Blocking: one GET at most. What goes wrong is `cannot tell`, with the reason.

    obj: of a kind of the catalogue, with its namespace. resolution: finds what it
    refers to. Raises UnknownKindError, UnknownVersionError.
    """
    version = catalogue.version(gvk_of(obj))
    key = key_of(obj)
    plan = PlannedChange(version.group_kind, key.namespace, key.name, "cannot tell")
    if not version.is_arm:
        return attrs.evolve(plan, why="this kind is no ARM resource")
    try:
        arm_id = resolution.arm_id_of(version, obj)
        plan = attrs.evolve(plan, arm_id=arm_id, api_version=version.api_version)
        if annotations(obj).get(RECONCILE_POLICY) == Policy.SKIP.value:
            return attrs.evolve(
                plan, action="no change", why="its reconcile policy is skip"
            )
        name = resolution.name_of(version, obj)
        inputs = _HiddenSecrets(resolution, key.namespace)
        body = to_arm(version, spec_of(obj), name=name, inputs=inputs)
        have = client.get(arm_id, version.api_version)
    except ArmError as error:
        if error.is_not_found:
            return attrs.evolve(plan, action="create", why="Azure does not have it")
        return attrs.evolve(plan, why=f"{error.status} {error.code}: {error.message}")
    except (ArmTransportError, AsoreconcileError) as error:
        return attrs.evolve(plan, why=str(error))
    children = child_collections(version, catalogue)
    return compared(plan, version, body, have, children=children)


def compared(
    plan: PlannedChange,
    version: KindVersion,
    body: JsonObject,
    have: JsonObject,
    *,
    children: frozenset[str],
) -> PlannedChange:
    """The plan with what a PUT of a body would change of what Azure has. Pure."""
    location, stated = body.get("location"), have.get("location")
    # First, and alone: every other difference is of no use to know then.
    if location and stated and not is_same(location, stated):
        change = FieldChange("location", "cannot be changed", location, stated)
        return attrs.evolve(
            plan,
            action="replace needed",
            why="a resource stays where it was made: delete it, or mend the manifest",
            changes=(change,),
        )
    found = differences(body, have, children=children)
    write_only = [d for d in found if d.kind == "absent" and _never_shown(version, d)]
    changes = tuple(_change(d) for d in found if d not in write_only)
    return attrs.evolve(
        plan,
        action="update" if changes else "no change",
        changes=changes,
        write_only=tuple(d.path for d in write_only),
    )


def planned_changes(
    objects: Iterable[JsonObject],
    *,
    catalogue: Catalogue,
    resolution: Resolution,
    client: ArmReader,
) -> Iterator[PlannedChange]:
    """One after the other, as they are consumed; raises as `planned_change`."""
    for obj in objects:
        yield planned_change(
            obj, catalogue=catalogue, resolution=resolution, client=client
        )


def _change(found: Difference) -> FieldChange:
    return FieldChange(found.path, _RULES[found.kind], found.want, found.have)


def _never_shown(version: KindVersion, found: Difference) -> bool:
    """Whether the kind's status, which is what Azure may answer, has no such field."""
    body = found.want
    for match in reversed([*_STEP.finditer(found.path)]):
        name, element = match.groups()
        if element is None:
            body = {name: body}
        else:
            identity = {"name": element} if isinstance(body, dict) else {}
            body = [{**identity, **body}] if isinstance(body, dict) else [body]
    shown = status_of(version, body)
    return not _holds(shown, found.want)


def _holds(value: Any, wanted: Any) -> bool:
    if value == wanted:
        return True
    if isinstance(value, dict):
        return any(_holds(inner, wanted) for inner in value.values())
    if isinstance(value, list):
        return any(_holds(inner, wanted) for inner in value)
    return False
