"""Reconcile objects of Entra's kinds with groups, applications and service principals.

`decisions` finds the entry, and this module creates, changes and deletes it. An entry
is created with the mark of its object, so that a lost response or a crash does not lead
to a second entry. Its id is stored before anything else is done with the entry.
"""

from collections.abc import Sequence
from functools import partial

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.entra.attempts import LinkAttempts
from asoreconcile.azure.entra.decisions import (
    CREATION,
    entry_of,
    entry_to_delete,
    is_marked,
    marked,
    must_decide,
    not_seen,
)
from asoreconcile.azure.entra.desired import (
    DesiredObject,
    changes_of,
    creation_body,
    mark_of,
)
from asoreconcile.azure.entra.graph_calls import (
    TENANT,
    advised,
    graph_of,
    present_facts,
    read,
    wanted_links,
    written,
)
from asoreconcile.azure.entra.kinds import desired_of, kind_of, status_of
from asoreconcile.azure.entra.links import creation_links
from asoreconcile.azure.entra.memberships import Linked, make_linked
from asoreconcile.azure.graph.client import GraphClient, is_absent, is_taken
from asoreconcile.azure.middleware.requests import Export
from asoreconcile.azure.non_arm.extension_points import require_permission
from asoreconcile.azure.non_arm.hand_over import heir_of
from asoreconcile.azure.reconcile.exports.export_plan import merged
from asoreconcile.azure.reconcile.exports.export_writer import read as read_target
from asoreconcile.azure.reconcile.exports.export_writer import write
from asoreconcile.azure.reconcile.identity.duplicates import (
    Rival,
    require_sole,
    rivals_of,
    yields_to,
)
from asoreconcile.azure.reconcile.identity.recorded_claim import accept_claim
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import (
    EXISTENCE,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.decisions import (
    AT_ONCE_SECONDS,
    ReconcileOutcome,
    Requeue,
    Succeeded,
)
from asoreconcile.azure.reconcile.model.existence import (
    ADOPTED,
    ADOPTED_HERE,
    ALREADY_EXISTS,
    CREATED_HERE,
    IF_EXISTS,
    UNDECIDED,
    IfExists,
    require_adoptable,
    stated_policy,
)
from asoreconcile.azure.reconcile.model.external_deletion import RECREATED
from asoreconcile.azure.reconcile.model.instructions import CREDENTIAL_FROM_ROW
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.policies.hand_over import hand_over, report_taken_over
from asoreconcile.azure.reconcile.policies.sole_manager import rivals_before_delete
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    dig,
    key_of,
    spec,
    status,
    uid_of,
)
from asoreconcile.base.printable import listed
from asoreconcile.kube.resources import CONFIG_MAPS

_NO_APPLICATION = "does not reference a valid application object"


class DirectoryObjects:
    """`non_arm.resource.ExternalResource` for Entra's kinds. Safe from any thread."""

    def __init__(self) -> None:
        self._attempts = LinkAttempts()

    def apply(self, scope: ReconcileScope) -> ReconcileOutcome:
        """Find or create the entry, and make it match the spec."""
        _complete_status(scope)
        entry, is_whole = _found(scope)
        entry_id = str(entry["id"])
        patcher = scope.patcher
        obj, claim = patcher.obj, scope.claim
        require_sole(scope.operator, patcher.version, obj, entry_id, claim)
        if not _is_adopted(scope, entry):
            _report(scope, entry)
            return Succeeded()
        _note(scope, entry_id)
        done: list[Linked] = []
        if not is_whole:
            entry = _updated(scope, entry)
            done = [
                make_linked(scope, self._attempts, entry_id, link)
                for link in kind_of(scope.patcher.obj).links
            ]
        _report(scope, entry)
        if any(one.more for one in done):
            return Requeue(AT_ONCE_SECONDS)
        problems = [one.problem for one in done if one.problem is not None]
        if problems:
            raise problems[0].reworded("; ".join(map(str, problems)))
        return Succeeded()

    def observe(self, scope: ReconcileScope) -> None:
        """Show the entry that belongs or would belong to the object."""
        _complete_status(scope)
        entry = _entry(scope)
        if entry is None:
            desired = desired_of(scope.patcher.obj)
            raise ConditionError(
                f"Entra has no {desired.noun} {desired.search[1]!r} for this object, "
                f"and the policy skip (or {IF_EXISTS}: observe) keeps it from being "
                "created: set the policy to manage (or the annotation to adopt), or "
                "create it",
                reason="AzureResourceNotFound",
            )
        _report(scope, entry)

    def delete(self, scope: ReconcileScope) -> ReconcileOutcome:
        """Delete the entry, if it belongs to the object."""
        _complete_status(scope)
        graph, facts = graph_of(scope), present_facts(scope)
        entry_id, left = read(scope, lambda: entry_to_delete(facts, graph))
        if left:
            scope.event("Warning", "NotDeletedInAzure", left)
        if entry_id:
            _delete(scope, graph, entry_id)
        return Succeeded()

    def forget(self, key: ObjectKey) -> None:
        """Drop the memory of an object's members and owners."""
        self._attempts.forget(key)


def _found(scope: ReconcileScope) -> tuple[JsonObject, bool]:
    """Return the entry, and whether it was just created with everything in the
    spec.

    Raises ConditionError, RetryError.
    """
    entry = _entry(scope)
    if entry is None:
        return _created(scope)
    kind_of(scope.patcher.obj).require_possible(spec(scope.patcher.obj), entry)
    return entry, False


def _entry(scope: ReconcileScope) -> JsonObject | None:
    """Return the object's entry; None if one is to be created. Raises as `entry_of`."""
    graph, facts = graph_of(scope), present_facts(scope)
    return read(scope, lambda: entry_of(facts, lambda: graph))


def _created(scope: ReconcileScope) -> tuple[JsonObject, bool]:
    graph = graph_of(scope)
    require_permission(scope)
    desired = desired_of(scope.patcher.obj)
    links, is_whole = creation_links(
        kind_of(scope.patcher.obj).links, partial(wanted_links, scope), graph.reference
    )
    mark = mark_of(uid_of(scope.patcher.obj))
    body = creation_body(desired, mark, links)
    unique_name = mark if desired.of.has_unique_names else ""
    # The next process knows it, if this one dies before it has the answer.
    now = scope.operator.clock.now()
    scope.patcher.record({CREATION: f"{now:%Y-%m-%dT%H:%M:%SZ}"})
    scope.log.info("Creating in Entra", type=desired.noun, mark=mark)
    try:
        made = written(
            scope, lambda: graph.create(desired.of, body, unique_name=unique_name)
        )
    except ConditionError as failed:
        if found := _there_already(scope, failed, desired):
            return found, False
        raise _explained(failed, scope) from failed
    if made is None:
        found = read(scope, lambda: marked(graph, desired, mark))
        if found is None:
            raise not_seen()
        return found, False
    _report_made(scope, str(made["id"]))
    return made, is_whole


def _there_already(
    scope: ReconcileScope, failed: ConditionError, desired: DesiredObject
) -> JsonObject | None:
    """Return the entry with the key that a refused creation asked for.

    Raises ConditionError `AlreadyExists` if the object may not have it.
    """
    error = failed.__cause__
    if desired.of.has_unique_names or not isinstance(error, ArmError):
        return None
    if not is_taken(error):
        return None
    key, value = desired.search
    found = read(scope, lambda: graph_of(scope).keyed(desired.of, key, value))
    if found and not desired.adopts and not is_marked(scope.patcher.obj, found):
        raise ConditionError(
            f"Entra has the {desired.noun} {found['id']} for this {key}, and there is "
            "one for each: set spec.operatorSpec.creationMode to AdoptOrCreate to "
            "adopt it",
            reason=ALREADY_EXISTS,
        )
    return found


def _is_adopted(scope: ReconcileScope, entry: JsonObject) -> bool:
    """Return whether the operator may change the entry; false if it is only read. Rule:
    OW-3.

    The decision about an entry that was there before is stored before the first write.
    Raises ConditionError `AlreadyExists`.
    """
    patcher, desired = scope.patcher, desired_of(scope.patcher.obj)
    if desired.is_only_read:
        patcher.record({EXISTENCE: UNDECIDED})
        return False
    if not must_decide(patcher.obj, entry):
        if scope.is_undecided:
            patcher.record({EXISTENCE: CREATED_HERE})
        return True
    choice = stated_policy(patcher.annotations, scope.namespace_annotations)
    uid = uid_of(patcher.obj)
    rivals = rivals_of(scope.operator, patcher.obj, str(entry["id"]))
    if any(yields_to(one, uid, scope.claim) for one in rivals):
        choice = IfExists.ADOPT  # its manager has agreed
    what = f"the {desired.noun} {entry['id']}"
    found: Sequence[str] = ()
    if choice is IfExists.ADOPT_IF_SAME:
        found = _differing(scope, entry)
    if not require_adoptable(choice or IfExists.ADOPT, what, differs=listed(found)):
        patcher.record({EXISTENCE: UNDECIDED})
        return False
    require_permission(scope)  # an entry that is adopted goes with the object
    patcher.record({EXISTENCE: ADOPTED_HERE})
    text = f"{what} was there before and is managed by this object now"
    scope.event("Normal", ADOPTED, text)
    return True


def _differing(scope: ReconcileScope, entry: JsonObject) -> list[str]:
    """Return the fields of the spec that differ from the entry. Reads its members."""
    entry_id = str(entry["id"])
    found = sorted(changes_of(desired_of(scope.patcher.obj), entry))
    for link in kind_of(scope.patcher.obj).links:
        ids = wanted_links(scope, link)
        if ids is not None:
            have = read(scope, partial(graph_of(scope).linked, entry_id, link))
            found += [link] * (set(ids) != set(have))
    return found


def _complete_status(scope: ReconcileScope) -> None:
    """Set the fields that a status must have, from the spec until there is an entry."""
    first = kind_of(scope.patcher.obj).first_status(desired_of(scope.patcher.obj))
    for field, value in first.items():
        scope.patcher.status.setdefault(field, value)


def _note(scope: ReconcileScope, entry_id: str) -> None:
    """Store the id of the entry before anything else is done with it."""
    noted = scope.patcher.annotations.get(RESOURCE_ID) or ""
    claim = scope.claim
    if claim is not None and noted == claim.arm_id == entry_id:
        return
    if not noted:
        source = scope.connection.source
        scope.event("Normal", "CredentialFrom", f'Using credential from "{source}"')
    tenant = scope.connection.tenant_id
    # The object that records it first manages the entry (`duplicates`).
    scope.patcher.record(
        {RESOURCE_ID: entry_id, **({TENANT: tenant} if tenant else {})}
        | accept_claim(scope, entry_id)
    )


def _report_made(scope: ReconcileScope, entry_id: str) -> None:
    before = str(status(scope.patcher.obj).get("entraID") or "")
    noun = kind_of(scope.patcher.obj).collection.noun
    if before and before.lower() != entry_id.lower():
        text = (
            f"the {noun} {before} was gone from Entra and is made again as {entry_id}: "
            "grants and memberships of the former one are lost"
        )
        scope.event("Warning", RECREATED, text)
    else:
        reason = f"{noun.title().replace(' ', '')}Created"
        scope.event("Normal", reason, f"Created the {noun} {entry_id}")


def _updated(scope: ReconcileScope, entry: JsonObject) -> JsonObject:
    """Write the properties that differ from the spec, and return the entry with
    them.
    """
    desired = desired_of(scope.patcher.obj)
    changes = changes_of(desired, entry)
    if not changes:
        return entry
    entry_id = str(entry["id"])
    scope.log.info("Updating in Entra", id=entry_id, properties=sorted(changes))
    written(scope, lambda: graph_of(scope).update(desired.of, entry_id, changes))
    kept = {
        name: {**(entry.get(name) or {}), **value}
        for name, value in changes.items()
        if isinstance(value, dict)
    }
    return {**entry, **changes, **kept}


def _report(scope: ReconcileScope, entry: JsonObject) -> None:
    """Show the entry in the status, and export the ids that the spec requests."""
    obj = scope.patcher.obj
    scope.patcher.replace_status(status_of(obj, entry))
    asked = dig(spec(obj), "operatorSpec.configmaps") or {}
    exports = [
        Export.to(asked[field], str(entry[name]))
        for field, name in kind_of(scope.patcher.obj).exports.items()
        if isinstance(asked.get(field), dict) and entry.get(name)
    ]
    for target in merged(CONFIG_MAPS, exports):
        key = ObjectKey(scope.patcher.key.namespace, target.name)
        present = read_target(scope.operator.client, CONFIG_MAPS, key)
        write(scope.operator, scope.patcher, CONFIG_MAPS, target, present)


def _delete(scope: ReconcileScope, graph: GraphClient, entry_id: str) -> None:
    of = kind_of(scope.patcher.obj).collection
    require_permission(scope)
    manager, _ = rivals_before_delete(scope, entry_id)
    if manager is not None:
        text = (
            f"the {of.noun} {entry_id} is left in Entra: "
            f"{manager.node.group_kind.kind} {manager.node.key}, which claimed it "
            "first, manages it"
        )
        scope.event("Warning", "NotDeletedInAzure", text)
        report_taken_over(scope, manager)
        return
    if heir := heir_of(scope, lambda _, other: _declares(scope, entry_id, other)):
        node = ObjectReference(scope.patcher.version.group_kind, key_of(heir))
        hand_over(scope, Rival(node, heir, None))
    scope.log.info("Deleting in Entra", type=of.noun, id=entry_id)
    try:
        graph.delete(of, entry_id)
    except ArmError as error:
        raise advised(scope, scope.errors.delete_failed(error), error) from error


def _declares(scope: ReconcileScope, entry_id: str, other: JsonObject) -> bool:
    """Return whether another object would adopt the entry of this object."""
    obj = scope.patcher.obj
    mine, theirs = annotations(obj), annotations(other)
    if theirs.get(RESOURCE_ID, entry_id) != entry_id:
        return False
    try:
        wanted, have = desired_of(other), desired_of(obj)
    except ConditionError:
        return False
    choice = stated_policy(theirs, scope.namespace_annotations)
    takes = wanted.adopts and not wanted.is_only_read
    return (
        takes
        and choice
        is not IfExists.OBSERVE  # the others are not asked: it is handed over
        and wanted.search == have.search
        and CREDENTIAL_FROM_ROW.text(theirs) == CREDENTIAL_FROM_ROW.text(mine)
    )


def _explained(refused: ConditionError, scope: ReconcileScope) -> ConditionError:
    """Return the condition of a refused creation, completed with names that Graph
    leaves out.

    These are the owners and members if one of them is missing, and the application,
    which Graph may not show yet.
    """
    error, content = refused.__cause__, spec(scope.patcher.obj)
    if not isinstance(error, ArmError):
        return refused
    if _NO_APPLICATION in error.message:
        text = (
            f"Entra knows no application {content['appId']}, which spec.appId names: "
            "correct it, or create the application; a new one is known after minutes"
        )
        return ConditionError(text, reason="ReferenceNotFound", cause=error)
    named = [link for link in kind_of(scope.patcher.obj).links if content.get(link)]
    if not is_absent(error) or not named:
        return refused
    where = " and ".join(f"spec.{link}" for link in named)
    return refused.reworded(f"{refused} (see {where})")
