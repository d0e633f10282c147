"""Make a group's members and owners match the spec, as far as Graph lets each.

An id that Graph refuses is reported; all other ids are added and removed.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.entra.attempts import Attempt, LinkAnswer, LinkAttempts
from asoreconcile.azure.entra.decisions import not_seen
from asoreconcile.azure.entra.graph_calls import (
    graph_of,
    present_facts,
    read,
    refused,
    wanted_links,
)
from asoreconcile.azure.entra.links import LinkChanges, link_changes
from asoreconcile.azure.graph.client import GroupLink, is_absent
from asoreconcile.azure.non_arm.extension_points import require_permission
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope

_SHOWN = 5
# Refusals that depend on the id in the request, not on the caller or the moment.
_ABOUT_THE_ID = frozenset(
    {HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}
)


@attrs.frozen
class Linked:
    """The result for one link.

    more: true if changes are left for the next reconcile. problem: condition about ids
    that cannot be added, removed or seen; None if there are none.
    """

    more: bool = False
    problem: ConditionError | None = None


def make_linked(
    scope: ReconcileScope, attempts: LinkAttempts, group_id: str, link: GroupLink
) -> Linked:
    """Add and remove members or owners.

    Raises ConditionError and RetryError for failures that are not about one id.
    """
    desired = wanted_links(scope, link)
    if desired is None:
        return Linked()
    return _Links(scope, attempts, group_id, link).match(desired)


@attrs.frozen
class _Links:
    """One link of one group."""

    scope: ReconcileScope
    attempts: LinkAttempts
    group_id: str
    link: GroupLink

    def match(self, desired: Sequence[str]) -> Linked:
        key, listed = self.scope.patcher.key, self._listed()
        now = self.scope.operator.clock.monotonic()
        tried = dict(self.attempts.unconfirmed(key, self.link, listed=listed, now=now))
        unlisted = [id_ for id_, attempt in tried.items() if attempt.is_in]
        failed = {id_ for id_, attempt in tried.items() if not attempt.is_in}
        changes = link_changes(desired, [*listed, *unlisted], failed=failed)
        if changes.added or changes.removed:
            require_permission(self.scope)
        for id_ in changes.added:
            tried[id_] = self._added(id_, now)
        refusals = [self._removed(id_, tried) for id_ in changes.removed]
        meant = set(desired)
        tried = {id_: attempt for id_, attempt in tried.items() if id_ in meant}
        self.attempts.note(key, self.link, tried)
        self._log(changes)
        return Linked(
            changes.more, _problem(self.link, tried, [one for one in refusals if one])
        )

    def _listed(self) -> list[str]:
        graph = graph_of(self.scope)

        def listed() -> list[str]:
            try:
                return graph.linked(self.group_id, self.link)
            except ArmError as error:
                # Readers of Entra see a new group late: its id may be unknown for
                # minutes.
                if is_absent(error) and present_facts(self.scope).is_fresh:
                    raise not_seen() from error
                raise

        return read(self.scope, listed)

    def _added(self, id_: str, now: float) -> Attempt:
        refusal: ConditionError | None = None
        try:
            is_new = graph_of(self.scope).add(self.group_id, self.link, id_)
            answer = LinkAnswer.ADDED if is_new else LinkAnswer.THERE_ALREADY
        except ArmError as error:
            if is_absent(error):
                if present_facts(self.scope).is_fresh:
                    raise not_seen() from error  # it may be the group that is not seen
                return Attempt(LinkAnswer.NO_SUCH_OBJECT, now)
            refusal, answer = self._about_the_id(error), LinkAnswer.REFUSED
        return Attempt(answer, now, refusal)

    def _removed(self, id_: str, tried: dict[str, Attempt]) -> ConditionError | None:
        try:
            graph_of(self.scope).remove(self.group_id, self.link, id_)
        except ArmError as error:
            return self._about_the_id(error)
        tried.pop(id_, None)
        return None

    def _about_the_id(self, error: ArmError) -> ConditionError:
        """Return the refusal of one id. Raises ConditionError for any other refusal."""
        failure = refused(self.scope, error)
        if error.status not in _ABOUT_THE_ID:
            raise failure
        return failure

    def _log(self, changes: LinkChanges) -> None:
        if changes.added or changes.removed:
            self.scope.log.info(
                "Changed group",
                groupId=self.group_id,
                link=self.link,
                added=len(changes.added),
                removed=len(changes.removed),
            )


def _problem(
    link: GroupLink,
    tried: Mapping[str, Attempt],
    refusals: Sequence[ConditionError],
) -> ConditionError | None:
    """Return the condition for the ids that are not as the spec has them. Pure."""

    def with_answer(answer: LinkAnswer) -> list[str]:
        return [id_ for id_, attempt in tried.items() if attempt.answer is answer]

    found: list[ConditionError] = []
    if unknown := with_answer(LinkAnswer.NO_SUCH_OBJECT):
        text = (
            f"Entra knows no object {_shown(unknown)}, which spec.{link} names: "
            "correct the ids, or create the objects"
        )
        found.append(ConditionError(text, reason="ReferenceNotFound"))
    found += [one.refusal for one in tried.values() if one.refusal is not None]
    found += refusals
    if hidden := with_answer(LinkAnswer.THERE_ALREADY):
        text = (
            f"Entra says that {_shown(hidden)} of spec.{link} is in the group already, "
            "and does not list it: the operator cannot see, nor remove, what is hidden "
            "like it. Grant the operator's application Member.Read.Hidden if the "
            "group's membership is hidden"
        )
        slow = RetryClass.VERY_SLOW
        found.append(ConditionError(text, reason="MembersNotShown", retry=slow))
    if len(found) < 2:
        return found[0] if found else None
    return found[0].reworded("; ".join(map(str, found[:_SHOWN])))


def _shown(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return ", ".join(ids[:_SHOWN]) + more
