"""The table of the annotations that people write, and the questions about all. Pure.

A new annotation is one row: the policy that it belongs to declares it (`Annotation`),
and `_ROWS` lists it. Everything that must know the annotations asks this module.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

import attrs

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.suggestions import closest
from asoreconcile.azure.reconcile.model import annotations as names
from asoreconcile.azure.reconcile.model.annotation_row import Annotation, Stated
from asoreconcile.azure.reconcile.model.annotations import is_operators_own
from asoreconcile.azure.reconcile.model.existence import IF_EXISTS_ROW, TAKES_OVER_ROW
from asoreconcile.azure.reconcile.model.instructions import (
    ALLOW_OWNER_CHANGE_ROW,
    CANCEL_SUBSCRIPTION_ROW,
    CREDENTIAL_FROM_ROW,
    DELETES_DECLARED_ROW,
    EXPORTS_AS_CREDENTIALS_ROW,
    LOGINS_AS_VALUES_ROW,
    ROTATE_ROW,
)
from asoreconcile.azure.reconcile.model.merge_rules import IGNORE_FIELDS_ROW
from asoreconcile.azure.reconcile.model.pace import (
    MAINTENANCE_WINDOWS_ROW,
    PAUSED_ROW,
    RECONCILE_AT_ROW,
    SYNC_PERIOD_ROW,
)
from asoreconcile.azure.reconcile.model.placeholders import PLACEHOLDERS_ROW
from asoreconcile.azure.reconcile.model.policy import RECONCILE_POLICY_ROW
from asoreconcile.azure.reconcile.model.protection import DELETION_PROTECTION_ROW
from asoreconcile.azure.reconcile.model.reach import (
    ALLOWED_SCOPES_ROW,
    ALLOWED_TYPES_ROW,
)
from asoreconcile.azure.reconcile.model.recreation import ON_IMMUTABLE_ROW
from asoreconcile.azure.reconcile.model.reference_waits import WAIT_FOR_REFERENCES_ROW
from asoreconcile.azure.reconcile.model.sync_mode import FOREIGN_TAGS_ROW, SYNC_MODE_ROW

AnyAnnotation = Annotation[Any]
_NO_ANNOTATIONS: Mapping[str, str] = {}
# Anyone can send a review with a hundred thousand.
_MOST_STRANGE = 20
_LONGEST_NAME = 253 + len("/") + 63  # of an annotation

# In the order in which pages and messages name them. The record of a PUT has a hash
# over the rows that change it, in this order.
_ROWS: tuple[AnyAnnotation, ...] = (
    RECONCILE_POLICY_ROW,
    CREDENTIAL_FROM_ROW,
    SYNC_MODE_ROW,
    DELETION_PROTECTION_ROW,
    PAUSED_ROW,
    MAINTENANCE_WINDOWS_ROW,
    SYNC_PERIOD_ROW,
    RECONCILE_AT_ROW,
    ROTATE_ROW,
    IF_EXISTS_ROW,
    WAIT_FOR_REFERENCES_ROW,
    IGNORE_FIELDS_ROW,
    FOREIGN_TAGS_ROW,
    ON_IMMUTABLE_ROW,
    ALLOW_OWNER_CHANGE_ROW,
    ALLOWED_SCOPES_ROW,
    ALLOWED_TYPES_ROW,
    EXPORTS_AS_CREDENTIALS_ROW,
    LOGINS_AS_VALUES_ROW,
    DELETES_DECLARED_ROW,
    TAKES_OVER_ROW,
    CANCEL_SUBSCRIPTION_ROW,
    PLACEHOLDERS_ROW,
)
# Annotations and labels that operators write: those of `annotations`, and one of an
# upper module whose name looks like one of the rows.
_WRITTEN = {
    *(one for one in vars(names).values() if isinstance(one, str)),
    names.OWN_PREFIX + "exported-secrets",
}


@attrs.frozen(eq=False, slots=False)
class AnnotationTable:
    """The rows of all annotations that people write."""

    rows: tuple[AnyAnnotation, ...]

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of the annotations."""
        return frozenset(self.by_name)

    @cached_property
    def by_name(self) -> Mapping[str, AnyAnnotation]:
        """The rows by the names of the annotations."""
        return {row.name: row for row in self.rows}

    def named_in(self, *several: Mapping[str, str]) -> Sequence[AnyAnnotation]:
        """Return the rows of the annotations that are among these, in their order."""
        # Most objects have none: do not go through all rows for them.
        if all(map(self.names.isdisjoint, several)):
            return ()
        return [row for row in self.rows if any(row.name in one for one in several)]

    def changed(
        self, before: Mapping[str, str], after: Mapping[str, str]
    ) -> Sequence[AnyAnnotation]:
        """Return the rows of the annotations whose values differ."""
        return [
            row
            for row in self.named_in(before, after)
            if before.get(row.name) != after.get(row.name)
        ]


TABLE = AnnotationTable(_ROWS)


def needs_reconcile(
    before: Mapping[str, str], after: Mapping[str, str], *, deleting: bool
) -> bool:
    """Return whether a change of an object's own annotations is a reason to reconcile
    it; a misspelt name is one, as it is reported. Rule: R6.1.
    """
    if any(
        row.is_changed(before, after, on_namespace=False, deleting=deleting)
        for row in TABLE.changed(before, after)
    ):
        return True
    if before.keys() == after.keys():
        return False
    return bool(misspelt(after, before) or misspelt(before, after))


def inherits_change(
    own: Mapping[str, str],
    before: Mapping[str, str],
    after: Mapping[str, str],
    *,
    deleting: bool,
) -> bool:
    """Return whether a change of a Namespace's annotations is a reason to reconcile an
    object of it. Rules: R6.3, R6.4, OW-4, OW-7.

    own: the object's annotations. before, after: the Namespace's.
    """
    return any(
        row.concerns(own, before, after, deleting=deleting)
        for row in TABLE.changed(before, after)
    )


def frees_rivals(before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    """Return whether a change of an object's annotations may let another object have
    its Azure id.
    """
    return any(
        row.wakes_rivals and row.text(before) != row.text(after)
        for row in TABLE.changed(before, after)
    )


def frees_containers(before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    """Return whether a change of an object's annotations may let the deletion of an
    object that it refers to go on.
    """
    return any(
        row.wakes_containers and row.is_lifted(before, after)
        for row in TABLE.changed(before, after)
    )


def reports(
    own: Mapping[str, str],
    inherited: Mapping[str, str],
    version: KindVersion | None = None,
) -> dict[str, str]:
    """Return sentences about annotations with wrong values, at a place that has no
    effect, or with a misspelt name, by annotation.

    own, inherited: the annotations of the object and of its Namespace. version: the
    object's kind, which its own values are checked against; None checks none.
    """
    found = {}
    for row in TABLE.named_in(own, inherited):
        if row.is_arm_only and version is not None and not version.is_arm:
            continue
        if sentences := "; ".join(row.reports(own, inherited, version)):
            found[row.name] = sentences
    return found | misspelt(own)


def report_on(
    row: AnyAnnotation, own: Mapping[str, str], inherited: Mapping[str, str]
) -> str:
    """Return the sentence of `reports` about one annotation, or ""."""
    return "; ".join(row.reports(own, inherited))


def in_force(
    own: Mapping[str, str], inherited: Mapping[str, str]
) -> Iterator[tuple[AnyAnnotation, Stated]]:
    """Yield each value that counts for an object, with its annotation."""
    for row in TABLE.named_in(own, inherited):
        for one in row.stated(own, inherited):
            yield row, one


def problems(
    own: Mapping[str, str],
    before: Mapping[str, str] = _NO_ANNOTATIONS,
    version: KindVersion | None = None,
) -> Iterator[tuple[str, str]]:
    """Yield name and problem of each annotation of an object that a write sets to a
    wrong value.

    before: the annotations before the write. version: the object's kind; without it,
    values are not checked against the kind.
    """
    for row in TABLE.named_in(own):
        text = row.text(own)
        if text is None or text == row.text(before):
            continue
        if row.misplaced(own, on_namespace=False):
            continue  # `without_effect` names it; it suppresses nothing
        if why := row.problem_for(version, text):
            yield row.name, why


def without_effect(
    own: Mapping[str, str], before: Mapping[str, str] = _NO_ANNOTATIONS
) -> list[str]:
    """Return a sentence for each annotation of an object that a write adds and that has
    no effect: its name is misspelt, or it counts on a Namespace alone.
    """
    placed = [row for row in TABLE.named_in(own) if row.name not in before]
    found = [why for row in placed if (why := row.misplaced(own, on_namespace=False))]
    return [*found, *misspelt(own, before).values()]


def misspelt(
    annotations: Mapping[str, str], before: Mapping[str, str] = _NO_ANNOTATIONS
) -> dict[str, str]:
    """Return a sentence for each annotation whose name is misspelt, by name. A bounded
    number of names is looked at.

    annotations: those of an object or a Namespace. before: the same before a write;
    names that were there before are left out.
    """
    strange = [
        name for name in annotations if name not in before and _is_strange(TABLE, name)
    ]
    return {
        name: f"annotation {name} has no effect; did you mean {near}?"
        for name in sorted(strange)[:_MOST_STRANGE]
        if (near := _meant(TABLE, name))
    }


def _is_strange(table: AnnotationTable, name: str) -> bool:
    """Return whether a name looks like one of the operator's and is not one. No
    stored object has a longer one than Kubernetes allows.
    """
    if len(name) > _LONGEST_NAME or not is_operators_own(name):
        return False
    return name not in table.by_name and name not in _WRITTEN


# The names are few, and are looked at in each reconcile.
@lru_cache(maxsize=1024)
def _meant(table: AnnotationTable, name: str) -> str:
    """Return the known name that is similar, or equal except for the prefix; "" if
    there is none.
    """
    # Without the prefix, which would make all names look alike.
    prefix, _, bare = name.partition("/")
    known = {
        one.partition("/")[2]: one
        for one in sorted(table.by_name)
        if one.startswith(f"{prefix}/") or one.endswith(f"/{bare}")
    }
    return "".join(known[near] for near in closest(bare, known))


def holds_writes(name: str) -> bool:
    """Return whether a wrong value of an annotation keeps the operator from changing a
    resource in Azure.
    """
    row = TABLE.by_name.get(name)
    return row is not None and row.holds_writes


def is_exported(name: str) -> bool:
    """Return whether a manifest for another cluster keeps an annotation or a label."""
    row = TABLE.by_name.get(name)
    return not is_operators_own(name) if row is None else row.is_exported


def inputs_of_put(own: Mapping[str, str], inherited: Mapping[str, str]) -> list[str]:
    """Return the values in force of the annotations that may change the body of a PUT:
    one text for each such annotation, "" if it is not stated.
    """
    return [
        "\n".join(one.text for one in row.stated(own, inherited))
        for row in TABLE.rows
        if row.changes_put
    ]
