"""Derives a write's outcome from the resource's own state if no monitor decides. Pure.

States are compared without case; a state that is not terminal means running. Rules:
L5-L7, L9, L13, L16, L24.
"""

from datetime import datetime

import attrs

from asoreconcile.azure.arm.delays import next_poll_delay
from asoreconcile.azure.arm.errors import (
    operation_fault,
    parse_fault,
    protocol_fault,
    why_not_the_resource,
)
from asoreconcile.azure.arm.outcomes import (
    NO_PROGRESS,
    ArmOutcome,
    Failed,
    OperationDone,
    Pending,
    Progress,
    ReadResource,
    Restart,
)
from asoreconcile.azure.arm.response import ArmResponse, BrokenBodyError
from asoreconcile.azure.arm.tokens import RESOURCE, Token, TokenShape
from asoreconcile.base.objects import JsonObject

SUCCESS = frozenset({"succeeded", "completed"})
FAILURE = frozenset({"failed", "canceled", "cancelled"})


def infer_from_resource(
    answer: ArmResponse,
    *,
    url: str,
    deleting: bool,
    progress: Progress = NO_PROGRESS,
    now: datetime | None = None,
) -> ArmOutcome:
    """Return the outcome of an operation that lost its monitor, from a GET of the
    resource.

    progress: the progress of the operation, which continues with polls of the resource.

    For a PUT provisioningState decides, and a missing resource means to start again. A
    DELETE is done if the resource is gone, waits while its state is deleting, else
    starts again.
    Rules: L9, L16. Any other failure of the read is Failed.
    """
    if answer.status >= 300:
        fault = parse_fault(answer, method="GET", url=url, now=now)
        # Azure has accepted the operation, so a code that is not known counts, too.
        if fault.is_not_found or (answer.status == 410 and not answer.is_foreign):
            gone = Restart("the resource does not exist")
            return OperationDone() if deleting else gone
        return Failed(fault)
    try:
        body = answer.json_object
    except BrokenBodyError as broken:
        return Failed(protocol_fault(answer, str(broken), method="GET", url=url))
    if problem := why_not_the_resource(body, url=url):
        return Failed(protocol_fault(answer, problem, method="GET", url=url))
    state = provisioning_state(body)
    delay = next_poll_delay(answer.headers, progress.polls, now=now)
    if deleting:
        if state.lower() == "deleting":
            return ReadResource("no monitor", deleting=True, delay_seconds=delay)
        return Restart("the resource still exists")
    token = Token(TokenShape.BODY, RESOURCE, url, state)
    return by_state(body, state, answer, url=url) or Pending(
        token, delay, attrs.evolve(progress, polls=progress.polls + 1, bad_reads=0)
    )


def provisioning_state(body: JsonObject | None) -> str:
    """Return `properties.provisioningState` as written; "" without one."""
    properties = body.get("properties") if body else None
    state = properties.get("provisioningState") if isinstance(properties, dict) else ""
    return state if isinstance(state, str) else ""


def by_state(
    body: JsonObject | None,
    state: str,
    answer: ArmResponse,
    *,
    url: str,
    method: str = "PUT",
) -> ArmOutcome | None:
    """Return Done or Failed by a resource's provisioningState; None while it runs.

    No state means succeeded (L6); states are compared without case (L13).
    """
    word = state.lower()
    if word in FAILURE:
        return Failed(
            operation_fault(answer, body or {}, word=state, method=method, url=url)
        )
    return OperationDone(body) if not state or word in SUCCESS else None


def status_word(body: JsonObject | None) -> str:
    """Return an operation's `status` as written; "" without one."""
    word = body.get("status") if body else None
    return word if isinstance(word, str) else ""
