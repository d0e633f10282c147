"""The changes that a PUT of each object would make in Azure. No PUT is sent.

Used by `asoctl plan`. Each object costs one GET and the reads of its extensions; the
body is the one that the operator would send. Nothing is written, and no value of a
Secret is read or shown.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.absence import Absence
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError, stated_resource
from asoreconcile.azure.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.azure.catalogue.payload import to_arm
from asoreconcile.azure.catalogue.resolution import Resolution
from asoreconcile.azure.middleware.chain import Extensions
from asoreconcile.azure.middleware.context import ReconcileContext
from asoreconcile.azure.middleware.declared import TAGS, names_at
from asoreconcile.azure.middleware.extension_points import MODIFY_PAYLOAD
from asoreconcile.azure.middleware.requests import ModifyPayload
from asoreconcile.azure.reconcile.model.annotation_bounds import (
    annotations,
    why_unreadable,
)
from asoreconcile.azure.reconcile.model.annotation_table import (
    report_on,
    reports,
)
from asoreconcile.azure.reconcile.model.differences import HIDDEN
from asoreconcile.azure.reconcile.model.drift_baseline import (
    OBSERVED,
    DriftBaseline,
    loads,
)
from asoreconcile.azure.reconcile.model.existence import will_observe
from asoreconcile.azure.reconcile.model.first_creation import is_first_creation
from asoreconcile.azure.reconcile.model.merge_rules import (
    AUTOSCALE_SETTING,
    autoscaled_by,
    merge_rules,
)
from asoreconcile.azure.reconcile.model.merged_body import MergedBody, merged
from asoreconcile.azure.reconcile.model.owner import owner_reference
from asoreconcile.azure.reconcile.model.policy import (
    RECONCILE_POLICY_ROW,
    Policy,
    policy_of,
)
from asoreconcile.azure.reconcile.model.protection import why_held
from asoreconcile.azure.reconcile.model.recreation import is_asked_for
from asoreconcile.azure.reconcile.planning.dry_run import ManifestObjects, ReadOnlyArm
from asoreconcile.azure.reconcile.planning.planned_change import (
    DELETE_OR_MEND,
    PlannedChange,
    compared,
    secret_names,
    shown,
)
from asoreconcile.azure.reconcile.sync.desired import child_collections
from asoreconcile.azure.reconcile.sync.recreatable import UNDECLARED, why_not_recreated
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import AsoreconcileError, StoppedError
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import GroupKind, JsonObject, ObjectKey, gvk_of, key_of
from asoreconcile.base.objects import spec as spec_of
from asoreconcile.base.printable import listed

_log = Logger(__name__)
_NAMESPACE = GroupKind("", "Namespace")
# Azure also answers 404 for a resource whose owner is missing: the error code tells the
# two apart.
_NO_OWNER = frozenset({"ParentResourceNotFound", "ResourceGroupNotFound"})


@attrs.frozen
class _HiddenSecrets:
    """Resolves references and ConfigMaps; hides the values of Secrets."""

    resolution: Resolution
    namespace: str

    def reference(self, reference: JsonObject, /) -> str:
        return self.resolution.inputs(self.namespace).reference(reference)

    def config_map(self, reference: JsonObject, /) -> str:
        return self.resolution.inputs(self.namespace).config_map(reference)

    def secret(self, _reference: JsonObject | str, /) -> str:
        return HIDDEN

    def secret_map(self, _reference: JsonObject, /) -> Any:
        return HIDDEN


OutsidePlan = Callable[
    [PlannedChange, JsonObject, _HiddenSecrets, Mapping[str, str]], PlannedChange
]
"""Plans for an object of a kind without ARM: the plan so far, the object, what its spec
names, and the annotations of its Namespace. Raises as ARM's client, or an
AsoreconcileError.
"""


@attrs.frozen
class Planner:
    """Makes the plans of one call. Blocking; for one thread.

    objects: objects to plan for and objects that they refer to, each with its
    namespace, and Namespaces whose annotations count. resolution: resolver of their
    references. extensions: the extensions that the operator runs. outside: planning
    functions of kinds without ARM. only: the objects to plan for; None for all.
    """

    catalogue: Catalogue
    objects: tuple[JsonObject, ...]
    resolution: Resolution
    reads: ReadOnlyArm
    extensions: Extensions
    clock: Clock
    subscription_id: str = ""
    outside: Mapping[GroupKind, "OutsidePlan"] = attrs.field(factory=dict)
    only: Collection[tuple[GroupKind, ObjectKey]] | None = None

    def changes(self) -> Iterator[PlannedChange]:
        """Yield a change for each Azure object. An error becomes `cannot tell`, with
        the reason.

        Raises NotInCatalogueError or UnknownVersionError for unknown kinds, and
        StoppedError.
        """
        groups = self.catalogue.groups()
        for obj in self.objects:
            kind = gvk_of(obj).group_kind
            if kind.group in groups and (
                self.only is None or (kind, key_of(obj)) in self.only
            ):
                yield self.change(obj)

    @cached_property
    def _view(self) -> ManifestObjects:
        return ManifestObjects(self.catalogue, self.objects)

    def change(self, obj: JsonObject) -> PlannedChange:
        """Return the change for one of the objects. Raises as `changes`."""
        version = self.catalogue.version(gvk_of(obj))
        key = key_of(obj)
        owner = _owner(version, obj)
        own, inherited = annotations(obj), self._inherited(obj)
        found = reports(own, inherited, version).values()
        plan = PlannedChange(
            *(version.group_kind, key.namespace, key.name, "cannot tell"),
            owner=owner,
            remarks=tuple(found),
        )
        outside = self.outside.get(version.group_kind)
        if not version.is_arm and outside is None:
            why = (
                "it is no ARM resource, and only its own server knows: "
                "`asoctl render` prints what would be said to it"
            )
            return attrs.evolve(plan, why=why)
        try:
            if version.is_arm:
                id_ = self.resolution.arm_id_of(version, obj)
                plan = attrs.evolve(plan, arm_id=id_, api_version=version.api_version)
            if why := self._skipping(obj):
                return attrs.evolve(plan, action="no change", why=why)
            if outside is not None:
                inputs = _HiddenSecrets(self.resolution, key.namespace)
                return outside(plan, obj, inputs, inherited)
            return self._compared(plan, version, obj)
        except StoppedError:
            raise
        except ArmError as error:
            why = f"{error.status} {error.code}: {error.message}"
            return attrs.evolve(plan, why=why)
        except (ArmTransportError, AsoreconcileError) as error:
            return attrs.evolve(plan, why=str(error))

    def _compared(
        self, plan: PlannedChange, version: KindVersion, obj: JsonObject
    ) -> PlannedChange:
        """Return the comparison of one manifest with its resource. Raises ArmError,
        ArmTransportError, AsoreconcileError.
        """
        have, absence = self._read(plan)
        context = ReconcileContext(
            version=version,
            arm=self.reads,
            arm_id=plan.arm_id,
            subscription_id=self.subscription_id,
            objects=self._view,
            log=_log,
            clock=self.clock,
        )
        # Extensions that read the resource get this answer, without a second GET.
        context.observed(have, Absence.NOT if have else Absence.CERTAIN)
        body = to_arm(
            version,
            spec_of(obj),
            name=self.resolution.name_of(version, obj),
            inputs=_HiddenSecrets(self.resolution, plan.namespace),
        )
        sent_by_spec = body
        modify = self.extensions.chain(MODIFY_PAYLOAD, version.group_kind)
        first = is_first_creation(obj)
        body = modify(ModifyPayload(context, obj, body, is_first=first))
        if have is None:
            sent = shown(body, secret_names(version.table))
            has_owner = self._view.owner_of(obj) is not None
            why = _absence(plan, absence, has_owner=has_owner)
            return attrs.evolve(plan, action="create", why=why, sent=sent)
        result, record = self._merged(context, obj, body, have)
        return compared(
            plan,
            version,
            body,
            have,
            children=child_collections(version, self.catalogue),
            merged=result,
            record=record,
            what_follows=lambda: self._replacement(plan, version, obj, sent_by_spec),
        )

    def _replacement(
        self,
        plan: PlannedChange,
        version: KindVersion,
        obj: JsonObject,
        body: JsonObject,
    ) -> str:
        """Return what the operator does about a field that cannot be changed. Raises
        as `_compared`.
        """
        own, inherited = annotations(obj), self._inherited(obj)
        if not is_asked_for(own):
            return DELETE_OR_MEND
        protected = [
            one
            for one in self.objects
            if why_held(annotations(one), self._inherited(one))
            and f"{self._id_of(one)}/".startswith(f"{ids.key(plan.arm_id)}/")
        ]
        policy = policy_of(own, inherited, Policy.MANAGE)
        why = ""
        if protected:
            names = listed([f"{gvk_of(one).kind} {key_of(one)}" for one in protected])
            why = f"deletion protection keeps {names}"
        elif policy is None or not policy.deletes:
            why = "the reconcile policy keeps it in Azure"
        declared = {self._id_of(one) for one in self.objects if not self._skipping(one)}
        why = why or why_not_recreated(
            version,
            plan.arm_id,
            body,
            catalogue=self.catalogue,
            read=self.reads.list,
            why_lost=lambda arm_id: "" if ids.key(arm_id) in declared else UNDECLARED,
        )
        if why:
            return f"it is not deleted and made again: {why}"
        return (
            "if Azure refuses it, the operator deletes the resource and makes it again"
        )

    def _id_of(self, obj: JsonObject) -> str:
        """Return the normalized ARM id of an object; "" if the id is not known."""
        gvk = gvk_of(obj)
        if gvk.group not in self.catalogue.groups():
            return ""
        with suppress(AsoreconcileError):
            version = self.catalogue.version(gvk)
            return ids.key(self.resolution.arm_id_of(version, obj))
        return ""

    def _merged(
        self,
        context: ReconcileContext,
        obj: JsonObject,
        body: JsonObject,
        have: JsonObject,
    ) -> tuple[MergedBody, DriftBaseline | None]:
        """Return the merged body, and the record of the last PUT if the object is from
        a cluster. Raises IgnoredFieldError.
        """
        record, declared = loads(annotations(obj).get(OBSERVED) or ""), context.declared
        if record is not None:
            declared.before = record.declared | record.owed
        declared.declare(TAGS, names_at(body, TAGS))
        version, key = context.version, key_of(obj)
        settings = (
            o for o in self.objects if gvk_of(o).group_kind == AUTOSCALE_SETTING
        )
        rules = merge_rules(
            version,
            annotations(obj),
            self._inherited(obj),
            autoscaled=autoscaled_by(version, key, context.arm_id, settings),
            owner_of=lambda: self._view.owner_of(obj),
        )
        return merged(body, have, rules, declared), record

    def _read(self, plan: PlannedChange) -> tuple[JsonObject | None, str]:
        """Return the resource and ""; or None and the error code if it does not
        exist.
        """
        try:
            body = self.reads.get(plan.arm_id, plan.api_version)
            # An empty answer would look like a resource without any value.
            return stated_resource(body, url=plan.arm_id), ""
        except ArmError as error:
            if error.is_not_found:
                return None, error.code
            raise

    def _inherited(self, obj: JsonObject) -> Mapping[str, str]:
        """Return the annotations of a Namespace if it is among the objects."""
        namespace = self._view.get(_NAMESPACE, ObjectKey("", key_of(obj).namespace))
        return annotations(namespace) if namespace else {}

    def _skipping(self, obj: JsonObject) -> str:
        """Return a clause that says which policy prevents writes; "" if they are
        allowed.
        """
        inherited = self._inherited(obj)
        if unread := why_unreadable(annotations(obj), inherited):
            return unread
        if will_observe(annotations(obj), inherited):
            return "the object only observes"
        policy = policy_of(annotations(obj), inherited, Policy.MANAGE)
        if policy is None:
            return report_on(RECONCILE_POLICY_ROW, annotations(obj), inherited)
        if policy.writes:
            return ""
        whose = "object" if RECONCILE_POLICY_ROW.text(annotations(obj)) else "namespace"
        return f"the reconcile policy of the {whose} is skip"


def _owner(version: KindVersion, obj: JsonObject) -> str:
    reference = owner_reference(version, obj)
    if not reference:
        return ""
    if reference.get("armId"):
        return str(reference["armId"])
    key = ObjectKey(key_of(obj).namespace, str(reference.get("name") or ""))
    return f"{reference.get('kind')} {key}"


def _absence(plan: PlannedChange, code: str, *, has_owner: bool) -> str:
    if code not in _NO_OWNER:
        return "Azure does not have it"
    if has_owner:
        return f"Azure does not have it, and its owner {plan.owner} comes first"
    return (
        f"Azure does not have it, nor its owner {plan.owner}, which is not among these "
        "objects: make that first"
    )
