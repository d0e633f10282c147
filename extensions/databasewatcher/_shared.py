"""Code that the kinds of database watchers share."""

from asoreconcile.azure.middleware.requests import PostReconcile
from asoreconcile.base.objects import JsonObject, annotations, key_of

_POLICY = "serviceoperator.azure.com/reconcile-policy"
_ALIKE = (
    "serviceoperator.azure.com/operator-namespace",
    "serviceoperator.azure.com/credential-from",
)


def why_left_alone(req: PostReconcile, other: JsonObject) -> str:
    """Return why a reconcile may not change the resource of another object, or "".

    The sync mode and the policy may forbid it. It may not either if that object has
    another operator or another credential.
    """
    own, others = annotations(req.obj), annotations(other)
    if req.ctx.only_reports:
        return "the sync mode is report"
    if others.get(_POLICY) == "skip":
        return f"the policy of {key_of(other).name} is skip"
    # An empty annotation counts as none.
    differs = [n for n in _ALIKE if (own.get(n) or "") != (others.get(n) or "")]
    return f"its object has another value of {differs[0]}" if differs else ""
