"""The order of the reconcile's phases: which rule is asked at which moment.

To take a policy out, delete its lines here. The constraints on the order are comments
at each list; `tests/policies/test_order.py` proves them.
"""

from collections.abc import Sequence

from asoreconcile.azure.arm.outcomes import ArmOutcome
from asoreconcile.azure.reconcile.model.decisions import (
    Read,
    ReconcileOutcome,
)
from asoreconcile.azure.reconcile.model.drift_baseline import AcceptedPut
from asoreconcile.azure.reconcile.policies import (
    adoption,
    checks,
    confirmed_absence,
    core,
    deletion_protection,
    drift,
    exports,
    external_deletion,
    foreign_values,
    maintenance_windows,
    namespace_reach,
    pause,
    permission,
    placeholders,
    put_budget,
    reconcile_policy,
    recreation,
    reference_waits,
    resumption,
    sole_manager,
)
from asoreconcile.azure.reconcile.policies.phase import PhaseOf
from asoreconcile.azure.reconcile.policies.requests import (
    DecidedPut,
    DeleteIntent,
    Intent,
    LeftAlone,
    RefusedRequest,
    SettleRequest,
    WriteRequest,
)
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.sync.look import Look

# Asked before each write: PUT, DELETE, an operation of an extension, a write of Entra's
# kinds and database users. The object and its Namespace were just read live. Limits
# that only an administrator lifts come first.
PERMIT: Sequence[PhaseOf[WriteRequest, None]] = (
    reconcile_policy.policy_allows,
    namespace_reach.within_reach,
    deletion_protection.unprotected,
    adoption.not_observing,
    pause.not_paused,
    maintenance_windows.window_open,
)


def permit(scope: ReconcileScope, *, is_delete: bool) -> None:
    """Make sure that the object and its Namespace, as they are now, permit a write.
    Raises as `permission.confirm`.
    """
    permission.confirm(scope, PERMIT, is_delete=is_delete)


def _permitted(request: DecidedPut) -> None:
    permit(request.scope, is_delete=False)


# Before the body is made. Nothing is read from Azure before `resume`: at a start there
# are thousands of objects. Mistakes in the spec are shown before anything is waited
# for, and the owner is known before a phase asks for the resource's id. Counts of
# another process are recalled before `resume` ends the first reconcile.
BEFORE_BODY: Sequence[PhaseOf[Intent, ReconcileOutcome | core.Next]] = (
    core.end_operation,
    core.sound_spec,
    placeholders.replaced,
    core.sound_expressions,
    core.hold_claim,
    maintenance_windows.report_while_closed,
    core.first_look,
    drift.recall_repairs,
    put_budget.recall_budget,
    resumption.resume,
    reference_waits.await_references,
    checks.check_first,
    core.own_subscription,
    sole_manager.sole,
)

# With the body, but before it is known whether a PUT is sent. An accepted PUT goes on
# before anything is compared (D15).
DECIDE: Sequence[PhaseOf[Intent, Look | AcceptedPut]] = (
    core.follow_accepted,
    drift.sync,
)

# Before a PUT that was decided. Phases that may end without a PUT come before
# `_permitted`, which reads the object live as late as possible. The extensions of point
# PUT follow.
BEFORE_PUT: Sequence[PhaseOf[DecidedPut, ReconcileOutcome | Read]] = (
    adoption.look_first,
    reference_waits.await_references_late,
    checks.check_late,
    confirmed_absence.confirm_absence,
    adoption.meet_existing,
    core.show_progress,
    foreign_values.keep_foreign_values,
    _permitted,
)

# Inside the extensions of point PUT, right before the request. Phases that count or
# report the PUT are here and nowhere else: only a PUT that is permitted and that no
# extension postpones is counted.
AT_PUT: Sequence[PhaseOf[DecidedPut, ArmOutcome]] = (
    put_budget.within_budget,
    adoption.report_adoption,
    foreign_values.report_foreign_values,
    drift.count_repair,
)

# After a PUT that Azure has refused, at once or at the end of its operation; then the
# refusal becomes a condition. Another client's write in between comes first: it says
# nothing about the content of the PUT.
REFUSED: Sequence[PhaseOf[RefusedRequest, ReconcileOutcome | None]] = (
    core.changed_meanwhile,
    recreation.recreate_if_asked,
)

# At the end of a reconcile. Nothing is read for an id that is not the object's own. The
# inputs of the PUT are read before a check may end the reconcile, so that their changes
# wake the object. The export comes after everything that may fail.
SETTLED: Sequence[PhaseOf[SettleRequest, ReconcileOutcome]] = (
    core.own_id,
    core.read_resource,
    confirmed_absence.note_found,
    external_deletion.report_another,
    core.read_inputs,
    drift.require_success,
    checks.require_usable,
    drift.learn,
    exports.export_values,
    checks.report_success,
)

# Before a DELETE; then `permit`, the extensions of point DELETE, and the request.
# Whether the object has a right to the resource comes before its credential is looked
# for, and reads of Azure come after everything that the cluster can answer.
BEFORE_DELETE: Sequence[PhaseOf[DeleteIntent, ReconcileOutcome | LeftAlone]] = (
    core.never_put,
    core.claimed_subscription,
    sole_manager.leave_to_others,
    adoption.leave_anothers,
)
