"""Only what keeps the rules of its kind is sent to Azure.

The rules are those that no schema states. Where admission webhooks run they refuse the
write; without them the object shows what is wrong with it. What it exports is judged by
`export`, under a reason of its own (R9.3).
"""

from asoreconcile.arm.condition_error import ConditionError
from asoreconcile.azure.reconcile_scope import ReconcileScope
from asoreconcile.catalogue.validation import rule_problems

# A person mends a few at a time, and a condition is stored with every object.
_MAX_PROBLEMS = 10


def require_valid(scope: ReconcileScope) -> None:
    """Raises ConditionError `Failed` (Error) with everything to mend."""
    problems = rule_problems(scope.version, scope.obj, exports=False)
    if not problems:
        return
    message = "; ".join(str(problem) for problem in problems[:_MAX_PROBLEMS])
    more = len(problems) - _MAX_PROBLEMS
    message = f"{message}; and {more} more" if more > 0 else message
    raise ConditionError(message, reason="Failed", severity="Error")
