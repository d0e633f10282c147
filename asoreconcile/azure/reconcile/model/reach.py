"""Checks that a Namespace's objects write only in the scopes and types it is allowed.

An administrator writes a list of scopes and a list of resource types as annotations of
the Namespace. No annotation of an object can widen them. Pure.
"""

import string
from collections.abc import Callable, Mapping

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.arm.text_bounds import ALLOWED_LIST
from asoreconcile.azure.reconcile.model.annotation_row import (
    Annotation,
    Whose,
)
from asoreconcile.azure.reconcile.model.annotations import ALLOWED_SCOPES, ALLOWED_TYPES


def parse_scopes(text: str) -> list[str]:
    """Return the scopes of a list. Raises ValueError."""
    scopes = _parts(text)
    if wrong := [one for one in scopes if not one.startswith("/")]:
        raise ValueError(f"{wrong[0]!r} is not a scope: write an id, from its slash on")
    return scopes


def parse_types(text: str) -> list[str]:
    """Return the resource types and providers of a list. Raises ValueError."""
    types = _parts(text)
    for one in types:
        provider = one.partition("/")[0]
        if "." not in provider or one.startswith("/"):
            raise ValueError(
                f"{one!r} is not a resource type: write it as Microsoft.Storage, or as "
                "Microsoft.Network/virtualNetworks"
            )
    return types


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


ALLOWED_SCOPES_ROW: Annotation[list[str]] = Annotation(
    ALLOWED_SCOPES,
    says="the ids that the Namespace's objects may write in Azure, with those below; "
    "an empty list allows none",
    values="ids, separated by commas",
    section="security.md#the-reach-of-a-namespace",
    effect="nothing is written or deleted in Azure",
    parse=parse_scopes,
    whose=Whose.NAMESPACE,
    holds_writes=True,
    bound=ALLOWED_LIST,
    counts_empty=True,
    in_deletion=True,
)
ALLOWED_TYPES_ROW: Annotation[list[str]] = Annotation(
    ALLOWED_TYPES,
    says="the resource types that the Namespace's objects may write; an empty list "
    "allows none",
    values="types or providers, separated by commas",
    section="security.md#the-reach-of-a-namespace",
    effect="what it misspells is not allowed",
    parse=parse_types,
    whose=Whose.NAMESPACE,
    holds_writes=True,
    bound=ALLOWED_LIST,
    counts_empty=True,
    in_deletion=True,
)


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
    types, scopes = (
        row.text(inherited) for row in (ALLOWED_TYPES_ROW, ALLOWED_SCOPES_ROW)
    )
    # No resource has a type that a list misspells.
    if types is not None and not _is_within(arm_type, _parts(types)):
        return f"{ALLOWED_TYPES} of the Namespace does not allow type {arm_type}"
    if scopes is None or not arm_id:
        return ""
    if why := ALLOWED_SCOPES_ROW.problem(scopes):
        return f"{ALLOWED_SCOPES} of the Namespace: {why}"
    if not _is_within(arm_id, _parts(scopes)) and not is_granted():
        return f"{ALLOWED_SCOPES} of the Namespace does not allow {arm_id}"
    return ""


def _is_within(name: str, allowed: list[str]) -> bool:
    """Return whether a path of segments is one of those allowed, or below one."""
    inner = _folded(name)
    outer = [_folded(one) for one in allowed]
    return any(inner == one or inner.startswith(f"{one}/") for one in outer)


def _folded(path: str) -> str:
    """Return a path for comparison: letters of ASCII in lower case, no empty segments.

    Azure does not take the Kelvin sign for a `k`: a wider folding would let a name that
    is another resource's past the list. Claims and protection fold wider, because there
    a doubt holds back.
    """
    return "/" + "/".join(part for part in path.translate(_LOWER).split("/") if part)


_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
