"""The changes that a PUT would make in Azure, by field and with the rule. Pure.

No value of a Secret is shown: the caller replaces those of the body by `***`, and
secret fields in Azure's answer are hidden here.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import attrs

from asoreconcile.azure.catalogue.immutable import immutable_among
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.tables import Table
from asoreconcile.azure.reconcile.model.differences import (
    HIDDEN,
    Difference,
    DifferenceKind,
    differences,
)
from asoreconcile.azure.reconcile.model.distinctions import distinctions_of
from asoreconcile.azure.reconcile.model.drift_baseline import DriftBaseline
from asoreconcile.azure.reconcile.model.foreign_values import replaced_values
from asoreconcile.azure.reconcile.model.merged_body import MergedBody
from asoreconcile.azure.reconcile.model.never_shown import is_never_shown
from asoreconcile.azure.reconcile.model.normalization import is_same
from asoreconcile.base.objects import GroupKind, JsonObject
from asoreconcile.base.printable import listed
from asoreconcile.redaction import HIDDEN as STARS
from asoreconcile.resources.class_fields import camel_case

ChangeAction = Literal["no change", "create", "update", "replace needed", "cannot tell"]

_RULES: Mapping[DifferenceKind, str] = {
    "absent": "Azure does not have it",
    "value": "Azure has another value",
    "shape": "Azure has another type of value",
    "list-missing": "the list lacks it",
    "list-extra": "the list has it and the manifest does not",
    "map-extra": "the map has it and the manifest does not",
}


DELETE_OR_MEND = "delete it, or mend the manifest"


@attrs.frozen
class FieldChange:
    """A field that a PUT would change.

    path: path in the ARM body. rule: why the difference counts as a change.

    want, have: None if there is no value on that side.
    """

    path: str
    rule: str
    want: Any = None
    have: Any = None


@attrs.frozen
class PlannedChange:
    """The change to the resource of one object.

    why: the reason, except for an update.
    owner: the resource's owner, `Kind namespace/name` or an ARM id. write_only: paths
    that Azure never shows, so that they were not compared. sent: the body of the PUT;
    found: the resource in Azure. Both have no secrets, and are None if unknown.
    statements: the SQL statements for a database server, without secrets. kept: paths
    at which the PUT keeps Azure's values. replaced: paths at which the PUT replaces
    values of other writers, if the record of the last PUT is known. remarks: sentences
    about annotations of the object that are wrong or have no effect.
    """

    kind: GroupKind
    namespace: str
    name: str
    action: ChangeAction
    arm_id: str = ""
    api_version: str = ""
    owner: str = ""
    why: str = ""
    changes: tuple[FieldChange, ...] = ()
    write_only: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    sent: JsonObject | None = attrs.field(default=None, repr=False)
    found: JsonObject | None = attrs.field(default=None, repr=False)

    def to_json(self) -> JsonObject:
        """Return the change as `asoctl plan --output json` prints it."""
        made = {camel_case(name): value for name, value in attrs.asdict(self).items()}
        return {**made, "kind": str(self.kind)}


def compared(
    plan: PlannedChange,
    version: KindVersion,
    body: JsonObject,
    have: JsonObject,
    *,
    children: frozenset[str],
    merged: MergedBody,
    record: DriftBaseline | None,
    what_follows: Callable[[], str] = lambda: DELETE_OR_MEND,
) -> PlannedChange:
    """Return the plan with the changes that a PUT of the body would make.

    body: the body of the manifest, with `differences.HIDDEN` for secrets. merged: the
    body that is sent. children: see `differences`. record: record of the last PUT, if
    known. what_follows: function that says how the operator reacts if a field cannot be
    changed.
    """
    secrets = secret_names(version.table)
    plan = attrs.evolve(
        plan, sent=shown(merged.body, secrets), found=shown(have, secrets, theirs=True)
    )
    apart = distinctions_of(version)
    declared, found = (
        differences(one, have, children=children, apart=apart)
        for one in (body, merged.wanted)
    )
    paths = {one.path for one in found}
    write_only = [d for d in found if is_never_shown(version, d)]
    changes = tuple(_change(d, secrets) for d in found if d not in write_only)
    location, stated = body.get("location"), have.get("location")
    # Azure refuses a PUT with another location, and writes "West Europe" as westeurope.
    if location and stated and not is_same(location, stated):
        changes = (FieldChange("location", "", location, stated), *changes)
    fixed = immutable_among(version.arm_type, [change.path for change in changes])
    if fixed:
        return attrs.evolve(
            plan,
            action="replace needed",
            why=f"Azure does not let {listed(fixed)} be changed after the resource was "
            f"made: {what_follows()}",
            changes=tuple(
                attrs.evolve(change, rule="cannot be changed")
                if change.path in fixed
                else change
                for change in changes
            ),
        )
    return attrs.evolve(
        plan,
        action="update" if changes else "no change",
        changes=changes,
        write_only=tuple(d.path for d in write_only),
        kept=tuple(one.path for one in declared if one.path not in paths),
        replaced=tuple(replaced_values(found, record, "").paths if record else ()),
    )


def secret_names(table: Table) -> frozenset[str]:
    """Return names of the body's fields that come from Secrets, in lower case."""
    return frozenset(_secret_names(table, set()))


def shown(value: Any, secrets: frozenset[str], *, theirs: bool = False) -> Any:
    """Return a copy of a JSON value that may be printed. theirs: whether the value is
    from Azure: then every member with a secret's name is hidden.
    """
    if value == HIDDEN:
        return STARS
    if isinstance(value, dict):
        return {
            name: STARS
            if theirs and name.lower() in secrets
            else shown(inner, secrets, theirs=theirs)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [shown(inner, secrets, theirs=theirs) for inner in value]
    return value


def _secret_names(table: Table, seen: set[int]) -> Iterator[str]:
    if id(table) in seen:
        return
    # Types may be recursive (a rule that has rules): without it this would not end.
    seen.add(id(table))
    for field in table.fields:
        if field.is_secret:
            yield field.path[-1].lower()
        if field.table is not None:
            yield from _secret_names(field.table, seen)


def _change(found: Difference, secrets: frozenset[str]) -> FieldChange:
    name = found.path.partition("[")[0].rpartition("/")[2].lower()
    have = STARS if name in secrets else shown(found.have, secrets, theirs=True)
    want = shown(found.want, secrets)
    return FieldChange(found.path, _RULES[found.kind], want, have)
