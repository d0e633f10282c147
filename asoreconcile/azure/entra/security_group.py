"""Reconcile SecurityGroup objects with groups in Entra.

Graph returns the present state, `decisions` decides, and this module executes. A group
is created with the mark of its object, so that a lost response or a crash does not lead
to a second group. Its id is stored before anything else is done with the group.
"""

from collections.abc import Sequence
from functools import partial

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.entra.attempts import LinkAttempts
from asoreconcile.azure.entra.decisions import (
    Ask,
    Create,
    DeleteGroup,
    Facts,
    Gone,
    Leave,
    Manage,
    Refuse,
    Wait,
    decide,
    decide_delete,
    must_decide,
)
from asoreconcile.azure.entra.desired import (
    changes_of,
    creation_body,
    desired_group,
    require_possible,
    status_of,
    unique_name_of,
)
from asoreconcile.azure.entra.graph_calls import (
    TENANT,
    advised,
    graph_of,
    not_seen,
    present_facts,
    read,
    wanted_links,
    with_text,
    written,
)
from asoreconcile.azure.entra.links import MOST_AT_CREATION
from asoreconcile.azure.entra.memberships import Linked, make_linked
from asoreconcile.azure.entra.questions import CREATION, asked
from asoreconcile.azure.graph.client import GraphClient, GroupLink, is_absent
from asoreconcile.azure.middleware.requests import Export
from asoreconcile.azure.non_arm.extension_points import require_permission
from asoreconcile.azure.reconcile.exports.export_plan import merged
from asoreconcile.azure.reconcile.exports.export_writer import write
from asoreconcile.azure.reconcile.identity.duplicates import (
    look_around,
    require_sole,
)
from asoreconcile.azure.reconcile.model.annotations import EXISTENCE, RESOURCE_ID
from asoreconcile.azure.reconcile.model.decisions import (
    AT_ONCE_SECONDS,
    ReconcileOutcome,
    Requeue,
    Succeeded,
)
from asoreconcile.azure.reconcile.model.existence import (
    ADOPTED,
    ADOPTED_HERE,
    CREATED_HERE,
    UNDECIDED,
    listed,
    stated_policy,
)
from asoreconcile.azure.reconcile.model.if_exists import (
    IF_EXISTS,
    IfExists,
    require_adoptable,
)
from asoreconcile.azure.reconcile.scope.arm_errors import delete_failed
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.writes.external_deletion import RECREATED
from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    dig,
    spec,
    status,
    uid_of,
)
from asoreconcile.kube.resources import CONFIG_MAPS

_LINKS: tuple[GroupLink, ...] = ("owners", "members")


class SecurityGroups:
    """`non_arm.resource.ExternalResource` for groups. Safe from any thread."""

    def __init__(self) -> None:
        self._attempts = LinkAttempts()

    def apply(self, scope: ReconcileScope) -> ReconcileOutcome:
        """Find or create the group, and make it match the spec."""
        _complete_status(scope)
        group, is_whole = _Search(scope).group()
        group_id = str(group["id"])
        patcher = scope.patcher
        require_sole(scope.operator, patcher.version, patcher.obj, group_id)
        if not _is_taken(scope, group):
            _report(scope, group)
            return Succeeded()
        _note(scope, group_id)
        done: list[Linked] = []
        if not is_whole:
            group = _updated(scope, group)
            done = [
                make_linked(scope, self._attempts, group_id, link) for link in _LINKS
            ]
        _report(scope, group)
        if any(one.more for one in done):
            return Requeue(AT_ONCE_SECONDS)
        problems = [one.problem for one in done if one.problem is not None]
        if problems:
            raise with_text(problems[0], "; ".join(map(str, problems)))
        return Succeeded()

    def observe(self, scope: ReconcileScope) -> None:
        """Show the group that belongs or would belong to the object."""
        _complete_status(scope)
        step = _Search(scope).step()
        match step:
            case Manage(group):
                _report(scope, group)
            case Refuse(error):
                raise error
            case Wait():
                raise not_seen()
            case Create():
                name = spec(scope.patcher.obj)["displayName"]
                raise ConditionError(
                    f"Entra has no group {name!r} for this object, and the policy skip "
                    f"(or {IF_EXISTS}: observe) keeps it from being created: set the "
                    "policy to manage (or the annotation to adopt), or create the "
                    "group",
                    reason="AzureResourceNotFound",
                )

    def delete(self, scope: ReconcileScope) -> ReconcileOutcome:
        """Delete the group, if it belongs to the object."""
        _complete_status(scope)
        graph, facts = graph_of(scope), present_facts(scope)
        while isinstance(step := decide_delete(facts), Ask):
            facts = _answered(scope, graph, facts, step)
        match step:
            case Refuse(error):
                raise error
            case Wait():
                raise not_seen()
            case Leave(why):
                scope.event("Warning", "NotDeletedInAzure", why)
            case DeleteGroup(group_id):
                _delete(scope, graph, group_id)
            case Gone():
                pass
        return Succeeded()

    def forget(self, key: ObjectKey) -> None:
        """Drop the memory of an object's members and owners."""
        self._attempts.forget(key)

    def close(self) -> None:
        """Do nothing: the connections belong to the credentials."""


@attrs.frozen
class _Search:
    """The search for the object's group."""

    scope: ReconcileScope

    def group(self) -> tuple[JsonObject, bool]:
        """Return the group, and whether it was just created with everything in the
        spec.

        Raises ConditionError, RetryError.
        """
        match self.step():
            case Manage(group):
                desired = desired_group(spec(self.scope.patcher.obj))
                require_possible(desired, group)
                return group, False
            case Refuse(error):
                raise error
            case Wait():
                raise not_seen()
            case Create():
                return self._created()

    def step(self) -> Manage | Create | Wait | Refuse:
        """Return the next step after all necessary facts have been read."""
        graph, facts = graph_of(self.scope), present_facts(self.scope)
        while isinstance(step := decide(facts), Ask):
            facts = _answered(self.scope, graph, facts, step)
        return step

    def _created(self) -> tuple[JsonObject, bool]:
        scope, graph = self.scope, graph_of(self.scope)
        require_permission(scope)
        links: dict[str, list[str]] = {}
        room, is_whole = MOST_AT_CREATION, True
        for link in _LINKS:
            ids = wanted_links(scope, link) or ()
            links[link] = [graph.reference(id_) for id_ in ids[:room]]
            is_whole = is_whole and len(ids) <= room
            # Owners and members share the limit.
            room -= len(links[link])
        body = creation_body(desired_group(spec(scope.patcher.obj)), links)
        mark = unique_name_of(uid_of(scope.patcher.obj))
        # Known to whoever comes next, if this process dies before it has the answer.
        now = scope.operator.clock.now()
        scope.patcher.record(
            {CREATION: f"{now:%Y-%m-%dT%H:%M:%SZ}"}
            | ({EXISTENCE: CREATED_HERE} if scope.is_undecided else {})
        )
        scope.log.info("Creating group", uniqueName=mark)
        try:
            made = written(scope, lambda: graph.create_group(mark, body))
        except ConditionError as failed:
            raise _with_links(failed, scope) from failed
        if made is None:
            found = read(scope, lambda: graph.group_named(mark))
            if found is None:
                raise not_seen()
            return found, False
        _report_made(scope, str(made["id"]))
        return made, is_whole


def _is_taken(scope: ReconcileScope, group: JsonObject) -> bool:
    """Return whether the group is written to; false if it is only read. Rule: OW-3.

    The decision about a group that was there before is stored before the first write.
    Raises ConditionError `AlreadyExists`.
    """
    patcher = scope.patcher
    if not must_decide(patcher.obj, group):
        if scope.is_undecided:
            patcher.record({EXISTENCE: CREATED_HERE})
        return True
    choice = stated_policy(patcher.annotations, scope.namespace_annotations)
    what = f"the group {group['id']}"
    found: Sequence[str] = ()
    if choice is IfExists.ADOPT_IF_SAME:
        found = _differing(scope, group)
    if not require_adoptable(choice or IfExists.ADOPT, what, differs=listed(found)):
        patcher.record({EXISTENCE: UNDECIDED})
        return False
    patcher.record({EXISTENCE: ADOPTED_HERE})
    text = f"{what} was there before and is managed by this object now"
    scope.event("Normal", ADOPTED, text)
    return True


def _differing(scope: ReconcileScope, group: JsonObject) -> list[str]:
    """Return the fields of the spec that differ from the group. Reads its members."""
    group_id = str(group["id"])
    found = sorted(changes_of(desired_group(spec(scope.patcher.obj)), group))
    for link in _LINKS:
        ids = wanted_links(scope, link)
        if ids is not None:
            have = read(scope, partial(graph_of(scope).linked, group_id, link))
            found += [link] * (set(ids) != set(have))
    return found


def _complete_status(scope: ReconcileScope) -> None:
    """Set the mail nickname from the spec until there is a group.

    ASO's schema accepts no status, and so no condition, without it.
    """
    desired = desired_group(spec(scope.patcher.obj)).mail_nickname
    scope.patcher.status.setdefault("groupEmailAddress", desired)


def _answered(
    scope: ReconcileScope, graph: GraphClient, facts: Facts, question: Ask
) -> Facts:
    return read(scope, lambda: asked(graph, facts, question))


def _note(scope: ReconcileScope, group_id: str) -> None:
    """Store the id of the group before anything else is done with it."""
    noted = scope.patcher.annotations.get(RESOURCE_ID) or ""
    if noted.lower() == group_id.lower():
        return
    if not noted:
        source = scope.connection.source
        scope.event("Normal", "CredentialFrom", f'Using credential from "{source}"')
    tenant = scope.connection.tenant_id
    scope.patcher.record(
        {RESOURCE_ID: group_id, **({TENANT: tenant} if tenant else {})}
    )


def _report_made(scope: ReconcileScope, group_id: str) -> None:
    before = str(status(scope.patcher.obj).get("entraID") or "")
    if before and before.lower() != group_id.lower():
        text = (
            f"the group {before} was gone from Entra and is made again as {group_id}: "
            "grants and memberships of the former one are lost"
        )
        scope.event("Warning", RECREATED, text)
    else:
        scope.event("Normal", "GroupCreated", f"Created the group {group_id}")


def _updated(scope: ReconcileScope, group: JsonObject) -> JsonObject:
    """Write the properties that differ from the spec, and return the group with
    them.
    """
    changes = changes_of(desired_group(spec(scope.patcher.obj)), group)
    if changes:
        group_id = str(group["id"])
        scope.log.info("Updating group", groupId=group_id, properties=sorted(changes))
        written(scope, lambda: graph_of(scope).update_group(group_id, changes))
    return {**group, **changes}


def _report(scope: ReconcileScope, group: JsonObject) -> None:
    """Show the group in the status, and export its id if the spec requests that."""
    scope.patcher.replace_status(status_of(group))
    asked = dig(spec(scope.patcher.obj), "operatorSpec.configmaps.entraID")
    if not isinstance(asked, dict):
        return
    export = Export(
        name=asked["name"],
        key=asked["key"],
        value=str(group["id"]),
        labels=asked.get("labels") or {},
        annotations=asked.get("annotations") or {},
    )
    for target in merged(CONFIG_MAPS, [export]):
        write(scope.operator.client, scope.patcher, CONFIG_MAPS, target)


def _delete(scope: ReconcileScope, graph: GraphClient, group_id: str) -> None:
    patcher = scope.patcher
    older, _ = look_around(scope.operator, patcher.version, patcher.obj, group_id)
    if older is not None:
        text = (
            f"the group {group_id} is left in Entra: {older.node.group_kind.kind} "
            f"{older.node.key}, which is older, manages it"
        )
        scope.event("Warning", "NotDeletedInAzure", text)
        return
    scope.log.info("Deleting group", groupId=group_id)
    try:
        graph.delete_group(group_id)
    except ArmError as error:
        raise advised(delete_failed(scope, error), error) from error


def _with_links(refused: ConditionError, scope: ReconcileScope) -> ConditionError:
    """Name owners and members in the error: Graph only says that one of them is
    missing.
    """
    error = refused.__cause__
    if not isinstance(error, ArmError) or not is_absent(error):
        return refused
    named = [link for link in _LINKS if spec(scope.patcher.obj).get(link)]
    where = " and ".join(f"spec.{link}" for link in named)
    return with_text(refused, f"{refused} (see {where})") if named else refused
