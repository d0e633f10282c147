"""Send Azure only objects that keep the rules of their kind.

These are the rules that no schema states. Admission webhooks refuse a write that breaks
one; without webhooks the object's condition says what is wrong. Exports are checked by
`export`, under a reason of their own (R9.3).
"""

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.catalogue.validation import rule_problems
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope

# A person corrects a few at a time, and the condition is stored with the object.
_MAX_PROBLEMS = 10


def require_valid(scope: ReconcileScope) -> None:
    """Raises ConditionError `Failed` (Error) with all problems."""
    problems = rule_problems(scope.version, scope.obj, exports=False)
    if not problems:
        return
    message = "; ".join(str(problem) for problem in problems[:_MAX_PROBLEMS])
    more = len(problems) - _MAX_PROBLEMS
    message = f"{message}; and {more} more" if more > 0 else message
    raise ConditionError(message, reason="Failed", severity="Error")
