"""Checks that a Namespace's objects write only in the scopes and types it is allowed.

An administrator writes a list of scopes and a list of resource types as annotations of
the Namespace. No annotation of an object can widen them. Pure.
"""

from collections.abc import Callable, Mapping

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.reconcile.model.annotations import ALLOWED_SCOPES, ALLOWED_TYPES


def require_in_reach(
    arm_id: str,
    arm_type: str,
    inherited: Mapping[str, str],
    is_granted: Callable[[], bool],
) -> None:
    """Make sure that objects of a Namespace may write a resource.

    inherited: the Namespace's annotations. is_granted: see `why_out_of_reach`. Raises
    ConditionError `NotAllowedInNamespace`, and the exceptions of is_granted.
    """
    if why := why_out_of_reach(arm_id, arm_type, inherited, is_granted):
        raise ConditionError(
            f"nothing is written or deleted in Azure: {why}. An administrator may "
            "change the annotation of the Namespace, or a ReferenceGrant of the "
            "owner's namespace may allow it",
            reason="NotAllowedInNamespace",
            retry=RetryClass.VERY_SLOW,
        )


def why_out_of_reach(
    arm_id: str,
    arm_type: str,
    inherited: Mapping[str, str],
    is_granted: Callable[[], bool] = lambda: False,
) -> str:
    """Return why a Namespace may not write a resource, or "".

    arm_id: id of the resource; if "", only the type is checked. is_granted: called if
    no scope allows the id; returns whether the namespace of an owner allows it.

    A scope allows all resources below it; a type allows resources of that type, and a
    provider those of all its types. A list that is empty or invalid allows nothing,
    because it was meant to restrict the Namespace.
    """
    types = _listed(inherited, ALLOWED_TYPES)
    scopes = _listed(inherited, ALLOWED_SCOPES)
    if types is not None and not _is_within(arm_type, types):
        return f"{ALLOWED_TYPES} of the Namespace does not allow type {arm_type}"
    if scopes is None or not arm_id:
        return ""
    if wrong := [one for one in scopes if not one.startswith("/")]:
        return f"{ALLOWED_SCOPES} of the Namespace: {wrong[0]!r} is not a scope"
    if not _is_within(arm_id, scopes) and not is_granted():
        return f"{ALLOWED_SCOPES} of the Namespace does not allow {arm_id}"
    return ""


def _listed(inherited: Mapping[str, str], name: str) -> list[str] | None:
    text = inherited.get(name)
    if text is None:
        return None
    return [part.strip() for part in text.split(",") if part.strip()]


def _is_within(name: str, allowed: list[str]) -> bool:
    """Return whether a path of segments is one of those allowed, or below one."""
    inner = ids.key(name)
    outer = [ids.key(one) for one in allowed]
    return any(inner == one or inner.startswith(f"{one}/") for one in outer)
