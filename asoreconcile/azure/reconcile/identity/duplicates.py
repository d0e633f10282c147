"""Several objects with one Azure id: one manages it, the others wait.

Otherwise they would overwrite each other, and the deletion of one would delete the
other's resource. The manager is the object that recorded a claim first
(`claim_record`). A resource that Azure Service Operator, or an operator with another
key, has managed counts as a claim later than every recorded one. An object that has
claimed nothing manages nothing. An object that only reads (`skip`, `observe`) may share
an id.
"""

from collections.abc import Iterable, Iterator, Sequence

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.storage_codec import as_far_as_readable
from asoreconcile.azure.reconcile.identity.identity import id_of
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import (
    FINALIZER,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.claim_record import (
    NO_FACTS,
    ClaimFacts,
    ClaimRecord,
    claim_of,
)
from asoreconcile.azure.reconcile.model.existence import (
    IfExists,
    is_undecided,
    stated_policy,
)
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.policy import policy_of
from asoreconcile.azure.reconcile.model.protection import names_of
from asoreconcile.azure.reconcile.model.standing import (
    ALREADY_MANAGED,
    Standing,
    is_taken_over,
    keeps_others_out,
    standing_of,
)
from asoreconcile.azure.reconcile.scope.shared_dependencies import (
    KindRuntime,
    SharedDependencies,
)
from asoreconcile.base.objects import (
    JsonObject,
    is_deleting,
    key_of,
    metadata,
    status,
    uid_of,
)
from asoreconcile.kube.finalizers import has_finalizer

Age = tuple[str, str]
"""Smaller is older."""

Rank = tuple[int, str, str]
"""The strength of a claim to an id; the smallest one manages it."""

ACCEPTED, _CLAIMED, SHOWN, _ANNOTATED = range(4)


@attrs.frozen
class Rival:
    """Another object that writes and declares an id as its own.

    rank: rank of its claim; None if it has no claim. is_leaving: whether the object is
    being deleted. standing: its standing towards the id. claim: its recorded claim.
    """

    node: ObjectReference
    obj: JsonObject = attrs.field(repr=False)
    rank: Rank | None
    is_leaving: bool = False
    standing: Standing = Standing.NEVER
    claim: ClaimRecord | None = None

    @property
    def facts(self) -> ClaimFacts:
        """Return the facts of its recorded claim."""
        return NO_FACTS if self.claim is None else self.claim.facts


def age_of(obj: JsonObject) -> Age:
    """Return a sort key by creation time; no two objects have the same age."""
    # The server gives whole seconds: between two objects of the same second the uid
    # decides, and both decide alike.
    return str(metadata(obj).get("creationTimestamp") or ""), uid_of(obj)


def rank_of(obj: JsonObject, arm_id: str, claim: ClaimRecord | None) -> Rank | None:
    """Return the rank of an object's claim to its own id; None if the object manages
    nothing. Pure.

    claim: the recorded claim, if there is one. Without a recorded claim, the
    annotations that Azure Service Operator writes count as one. Objects whose status
    shows the id come first.
    """
    standing = standing_of(obj, arm_id, claim)
    if not keeps_others_out(obj, standing, claim):
        return None
    if claim is not None:
        is_accepted = standing is Standing.MANAGES
        return ACCEPTED if is_accepted else _CLAIMED, claim.at, uid_of(obj)
    is_seen = is_taken_over(obj, arm_id)
    return SHOWN if is_seen else _ANNOTATED, *age_of(obj)


def manager_among(mine: Rank | None, rivals: Iterable[Rival]) -> Rival | None:
    """Return the rival that manages the id. Pure.

    Return None if this object manages the id or may claim it.

    mine: the rank of this object's claim.
    """
    ranked = [
        (one.rank, one)
        for one in rivals
        if one.rank is not None and (mine is None or one.rank < mine)
    ]
    return min(ranked, key=lambda pair: pair[0])[1] if ranked else None


def heir_among(namespace: str, rivals: Iterable[Rival]) -> Rival | None:
    """Return the live object that declares the id of a deleted one as its own; None if
    there is no such object. Pure.

    namespace: namespace of the deleted object. An object of the same namespace comes
    first, as it can take over; then the one with the better claim, then the older one.
    """
    live = [one for one in rivals if not one.is_leaving]
    last = (_ANNOTATED + 1, "", "")

    def order(one: Rival) -> tuple[bool, Rank, Age]:
        is_elsewhere = one.node.key.namespace != namespace
        return is_elsewhere, one.rank or last, age_of(one.obj)

    return min(live, key=order, default=None)


def id_outside_arm(obj: JsonObject) -> str:
    """Return the id that an object of a kind without ARM has claimed.

    The annotation counts only if it equals the status, because every author can write
    annotations.
    """
    claimed = annotations(obj).get(RESOURCE_ID, "")
    return claimed if claimed == status(obj).get("entraID") else ""


def already_managed(
    arm_id: str,
    manager: ObjectReference,
    *,
    namespace: str,
    children: Sequence[ObjectReference] = (),
    is_leaving: bool = False,
) -> ConditionError:
    """Return the condition of an object whose id another object manages.

    namespace: namespace of the object. children: objects whose spec names the manager
    as their owner. is_leaving: whether the manager is being deleted.
    """
    kind, key = manager.group_kind.kind, manager.key
    if key.namespace != namespace:
        hand_over = f"set {RECONCILE_POLICY} to detach-on-delete on {key} and delete it"
    elif children:
        hand_over = (
            f"let {names_of(children)} name this object in spec.owner, and then delete "
            f"{key}: this object takes over before it goes. What still names {key} as "
            "its owner is deleted with it, also in Azure"
        )
    else:
        hand_over = (
            f"delete {key}: this object takes over before it goes, and nothing is "
            "deleted in Azure"
        )
    claimed = "is being deleted" if is_leaving else "claimed it first"
    return ConditionError(
        f"{arm_id} is managed by {kind} {key}, which {claimed}: nothing is sent "
        "to Azure for this object. Delete this object, which deletes nothing in Azure; "
        f"or set {RECONCILE_POLICY} to skip on it, if it is only to read; or "
        f"{hand_over}",
        reason=ALREADY_MANAGED,
    )


def require_sole(
    operator: SharedDependencies,
    version: KindVersion,
    obj: JsonObject,
    arm_id: str,
    claim: ClaimRecord | None = None,
) -> list[Rival]:
    """Return the other objects that declare an id, after checking that none of them
    manages it.

    claim: the recorded claim of the object. Raises
    ConditionError `AlreadyManaged` while another object manages the id, RetryError
    while objects that may manage it are not listed yet.
    """
    found, rivals = look_around(operator, version, obj, arm_id, claim)
    if found is not None:
        raise already_managed(
            arm_id,
            found.node,
            namespace=key_of(obj).namespace,
            children=operator.children_of(found.node),
            is_leaving=found.is_leaving,
        )
    return rivals


def look_around(
    operator: SharedDependencies,
    version: KindVersion,
    obj: JsonObject,
    arm_id: str,
    claim: ClaimRecord | None = None,
    *,
    kind: KindRuntime | None = None,
    is_delete: bool = False,
) -> tuple[Rival | None, list[Rival]]:
    """Return the other object that manages an id, and all others that declare it.

    The first is None if this object manages the id or may claim it.

    claim: see `require_sole`. kind: if given, the objects of the kind are read from the
    API server, not from the cache. is_delete: whether a DELETE rests on the result. The
    object is reconciled again when the manager changes. Raises as `rivals_of`.
    """
    me = ObjectReference(version.group_kind, key_of(obj))
    rivals = rivals_of(operator, obj, arm_id, kind, is_delete=is_delete)
    # Most objects have no rivals, and need no rank.
    mine = _rank(version, obj, arm_id, claim) if rivals else None
    found = _manager(obj, mine, claim, rivals, is_delete=is_delete)
    if found is not None and kind is None:
        # It may have gone before the waiting object was recorded: look once more.
        operator.waiting.note(me, found.node)
        rivals = rivals_of(operator, obj, arm_id, is_delete=is_delete)
        found = _manager(obj, mine, claim, rivals, is_delete=is_delete)
    # Also if none was found before: an earlier reconcile may have waited.
    if found is None:
        operator.waiting.forget(me)
    return found, rivals


def _manager(
    obj: JsonObject,
    mine: Rank | None,
    claim: ClaimRecord | None,
    rivals: Sequence[Rival],
    *,
    is_delete: bool,
) -> Rival | None:
    uid = uid_of(obj)
    for rival in rivals:
        if has_taken_over(rival, uid, claim):
            # While its PUT is open, a deleted object waits for the answer.
            if rival.standing is Standing.MANAGES:
                return rival
            if rival.standing is Standing.PERHAPS and not is_delete:
                return rival
    if is_delete:
        over = () if claim is None else claim.facts.over
        return manager_among(mine, [r for r in rivals if uid_of(r.obj) not in over])
    return manager_among(mine, [r for r in rivals if not yields_to(r, uid, claim)])


def has_taken_over(rival: Rival, uid: str, claim: ClaimRecord | None) -> bool:
    """Return whether a rival has taken the id over from an object. Pure.

    uid, claim: uid and recorded claim of the object.
    """
    if rival.claim is None or uid not in rival.facts.over:
        return False
    is_mutual = claim is not None and uid_of(rival.obj) in claim.facts.over
    return not is_mutual or (claim is not None and claim.at < rival.claim.at)


def yields_to(rival: Rival, uid: str, claim: ClaimRecord | None) -> bool:
    """Return whether a rival does not keep an object from the id: it hands over to the
    object, or has let go. Pure.

    uid, claim: uid and recorded claim of the object.
    """
    is_giving = rival.is_leaving and rival.facts.heir == uid
    return is_giving or (claim is not None and uid_of(rival.obj) in claim.facts.over)


def rivals_of(
    operator: SharedDependencies,
    obj: JsonObject,
    arm_id: str,
    kind: KindRuntime | None = None,
    *,
    is_delete: bool = False,
    with_readers: bool = False,
) -> list[Rival]:
    """Return the other objects that write and declare an id as their own.

    with_readers: whether those are included that only read. kind: see `look_around`.
    is_delete: whether the policies of their Namespaces are also read from the API
    server, because a watch of Namespaces may be behind. Raises RetryError as
    `require_sole` does, and the errors of `list_all` and `NamespaceAnnotations.live`.
    """
    found = (
        operator.objects_with_arm_id(arm_id)
        if kind is None
        else _read_all(operator, kind)
    )
    rivals: list[Rival] = []
    for version, other in found:
        # An id needs the owner and the credential, and raises while they are not
        # listed: a PUT asks only for the ids of objects that write.
        if uid_of(other) == uid_of(obj):
            continue
        if not (is_delete or with_readers or writes(operator, other)):
            continue
        claim = claim_of(other, operator.record_key)
        declared = _declared(operator, version, other, claim)
        if declared and ids.same(declared, arm_id):
            if is_delete and not writes(operator, other, is_live=True):
                continue
            node = ObjectReference(version.group_kind, key_of(other))
            rank = _rank(version, other, arm_id, claim)
            standing = standing_of(other, arm_id, claim)
            is_leaving = is_deleting(other)
            rivals.append(Rival(node, other, rank, is_leaving, standing, claim))
    return rivals


def _read_all(
    operator: SharedDependencies, kind: KindRuntime
) -> Iterator[tuple[KindVersion, JsonObject]]:
    operator.count_confirmation("rivals")
    for selection in kind.selections:
        for stored in operator.client.list_all(selection):
            yield as_far_as_readable(kind.form, kind.version, stored)


def _declared(
    operator: SharedDependencies,
    version: KindVersion,
    other: JsonObject,
    claim: ClaimRecord | None,
) -> str:
    if not version.is_arm:
        return id_outside_arm(other) if claim is None else claim.arm_id
    return id_of(
        version,
        other,
        claim=claim,
        objects=operator.objects,
        subscription_of=lambda obj: (
            operator.connections.for_object(obj).subscription_id
        ),
    )


def _rank(
    version: KindVersion, obj: JsonObject, arm_id: str, claim: ClaimRecord | None
) -> Rank | None:
    if version.is_arm:
        return rank_of(obj, arm_id, claim)
    if claim is not None:
        return (ACCEPTED, claim.at, uid_of(obj)) if claim.arm_id == arm_id else None
    return (SHOWN, *age_of(obj)) if id_outside_arm(obj) == arm_id else None


def writes(
    operator: SharedDependencies, obj: JsonObject, *, is_live: bool = False
) -> bool:
    """Return whether the policy of an object lets it write, or cannot be read.

    An object that only observes a resource does not write. is_live: whether the
    Namespace is read now.
    """
    namespace, of_namespace = key_of(obj).namespace, operator.namespace_annotations
    inherited = (
        of_namespace.live(namespace, since=operator.clock.monotonic())
        if is_live
        else of_namespace(namespace)
    )
    own = annotations(obj)
    is_free = is_undecided(own) or not has_finalizer(obj, FINALIZER)
    if is_free and stated_policy(own, inherited) is IfExists.OBSERVE:
        return False
    policy = policy_of(own, inherited, operator.default_policy)
    return policy is None or policy.writes
