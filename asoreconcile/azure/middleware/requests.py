"""The request and the result of each extension point, as frozen values.

Requests contain the objects of the reconcile, which extensions read and never change; a
new field never breaks an extension. Expected outcomes are results; failures are
exceptions. Secret values are kept out of every repr. A result checks its fields when it
is made, so that a wrong one is an error of the extension that makes it.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import attrs

from asoreconcile.azure.arm.condition_error import RetryClass, Severity
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.outcomes import NO_PROGRESS, ArmOutcome, Progress
from asoreconcile.azure.arm.tokens import Token
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.middleware.context import ReconcileContext
from asoreconcile.base.objects import JsonObject


def _no_labels() -> Mapping[str, str]:
    return {}


def _text(_: object, field: "attrs.Attribute[Any]", value: object) -> None:
    # Without the value in the error, which may be a secret.
    if not isinstance(value, str):
        kind = type(value).__name__
        raise TypeError(f"{field.name} is of type {kind}: give a string")


def _stated(_: object, field: "attrs.Attribute[Any]", value: object) -> None:
    if not isinstance(value, str) or not value.strip():
        raise TypeError(f"{field.name} is {value!r:.80}: give a text to show")


def _texts(_: object, field: "attrs.Attribute[Any]", value: object) -> None:
    pairs = value.items() if isinstance(value, Mapping) else ((None, None),)
    if not all(isinstance(one, str) for pair in pairs for one in pair):
        raise TypeError(f"{field.name} is no mapping of strings to strings")


def _delay(_: object, field: "attrs.Attribute[Any]", value: object) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value < math.inf:  # type: ignore[operator] # a number
        raise TypeError(f"{field.name} is {value!r:.80}: give a number of seconds")


def _object(_: object, field: "attrs.Attribute[Any]", value: object) -> None:
    if not isinstance(value, dict):
        raise TypeError(f"{field.name} is of type {type(value).__name__}: give a dict")


def _reason(_: object, field: "attrs.Attribute[Any]", value: object) -> None:
    if not isinstance(value, str) or not _REASON.fullmatch(value) or value in _PROGRESS:
        raise TypeError(f"{field.name} is {value!r:.80}: give a CamelCase word")


_RETRY = attrs.validators.instance_of(RetryClass)
# The form that Kubernetes asks of a condition's reason.
_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]{0,1022}[A-Za-z0-9_])?")
# Reasons of an object that makes progress or is Ready: a check that fails is neither.
_PROGRESS = frozenset({"Deleting", "Reconciling", "Succeeded"})


@attrs.frozen
class ModifyPayload:
    """The body that is about to be PUT; the result is the body to PUT instead.

    payload: must be returned or copied, never changed in place.
    is_first: whether nothing says that a resource of this object was ever read or PUT.
    Only then may an extension remove or restore something to make room for it. The
    request is also made for syncs that end without a PUT.
    """

    ctx: ReconcileContext
    obj: JsonObject = attrs.field(repr=False)
    payload: JsonObject = attrs.field(repr=False)
    is_first: bool = False


@attrs.frozen
class PreReconcileOwner:
    """A request sent before anything is written for a child: does its owner allow
    writes?

    owner: the owner's CR with the status of a GET of this reconcile; never None,
    because objects without an owner are not checked.
    obj: the child.
    """

    ctx: ReconcileContext
    owner: JsonObject = attrs.field(repr=False)
    obj: JsonObject = attrs.field(factory=dict, repr=False)


@attrs.frozen
class PreReconcile:
    """A request sent before a PUT, after a fresh GET: may the object be written?

    obj: the CR with its current status. Before the first create the status is empty: an
    absent value must not block.
    """

    ctx: ReconcileContext
    obj: JsonObject = attrs.field(repr=False)


@attrs.frozen
class Proceed:
    """The check passed: continue with the next check, and then with the PUT."""

    outcome: ClassVar[str] = "proceed"


@attrs.frozen
class Block:
    """Send nothing; the object shows `ReconciliationBlocked` with the message and is
    retried.
    """

    outcome: ClassVar[str] = "block"
    message: str = attrs.field(validator=_stated)
    retry: RetryClass = attrs.field(default=RetryClass.SLOW, validator=_RETRY)


@attrs.frozen
class Postpone:
    """Send nothing, leave the Ready condition unchanged, and check again later."""

    outcome: ClassVar[str] = "postpone"
    after_seconds: float = attrs.field(validator=_delay)


PreResult = Proceed | Block | Postpone


@attrs.frozen
class GetRequest:
    """The one read of the resource that a reconcile shares (`ctx.raw_get`).

    Call the next link for Azure's answer: `ctx.raw_get` fails inside this point.
    """

    ctx: ReconcileContext
    obj: JsonObject = attrs.field(repr=False)


@attrs.frozen
class PutRequest:
    """A PUT that is permitted, about to be sent.

    body: the body to send; copy it along the path to a change. The decision whether to
    PUT is made before, so a change here is not compared with the resource
    (`ModifyPayload` is). send: sends a body and records Azure's answer; None sends it
    by `ctx.arm`.
    """

    ctx: ReconcileContext
    obj: JsonObject = attrs.field(repr=False)
    body: JsonObject = attrs.field(repr=False)
    send: Callable[[JsonObject], ArmOutcome] | None = attrs.field(
        default=None, repr=False
    )


PutResult = ArmOutcome | Block | Postpone
"""Azure's answer to a PUT; or the PUT was not sent, or its refusal is not shown."""


@attrs.frozen
class PostReconcile:
    """A request sent after a successful write and GET: is the object usable?

    obj: the CR with fresh status.
    owner: the owner's CR as cached, not refreshed; None for ARM-id owners and kinds
    without one.
    """

    ctx: ReconcileContext
    obj: JsonObject = attrs.field(repr=False)
    owner: JsonObject | None = attrs.field(default=None, repr=False)


@attrs.frozen
class Ready:
    """The object is usable.

    status_patch: a JSON merge patch on `status` (null removes a field), if any.
    """

    outcome: ClassVar[str] = "ready"
    status_patch: JsonObject | None = attrs.field(
        default=None, validator=attrs.validators.optional(_object)
    )


@attrs.frozen
class NotReady:
    """The object is written, but not usable yet; the Ready condition shows why.

    severity: `Error` if a person must act, `Warning` if the object may recover, `Info`
    if nothing is wrong.
    reason: CamelCase, the condition's `reason`.
    retry: how fast the check is repeated; by default SLOW, and VERY_SLOW for severity
    `Error`.
    """

    outcome: ClassVar[str] = "not-ready"
    message: str = attrs.field(validator=_stated)
    severity: Severity = attrs.field(
        default="Warning", validator=attrs.validators.in_(("Error", "Warning", "Info"))
    )
    reason: str = attrs.field(default="PostReconciliationFailure", validator=_reason)
    retry: RetryClass = attrs.field(default=RetryClass.SLOW, validator=_RETRY)


PostResult = Ready | NotReady


@attrs.frozen
class ClassifyError:
    """A request for the severity and the retry class of an ARM error."""

    version: KindVersion
    error: ArmError


@attrs.frozen
class Export:
    """One key of a Secret or ConfigMap in the object's namespace.

    The value never appears in a repr.
    """

    name: str = attrs.field(validator=_text)
    key: str = attrs.field(validator=_text)
    value: str = attrs.field(repr=False, validator=_text)
    labels: Mapping[str, str] = attrs.field(factory=_no_labels, validator=_texts)
    annotations: Mapping[str, str] = attrs.field(factory=_no_labels, validator=_texts)

    @classmethod
    def to(cls, destination: JsonObject, value: str) -> "Export":
        """Return the export of a value to a destination in a spec."""
        marked = (destination.get(name) or {} for name in ("labels", "annotations"))
        return cls(destination["name"], destination["key"], value, *marked)


@attrs.frozen
class ExportSecrets:
    """A request, on each success, for the values to write to Secrets.

    extra: names of secrets that the object's expressions use, whether or not
    `spec.operatorSpec.secrets` lists them.
    """

    ctx: ReconcileContext
    obj: JsonObject = attrs.field(repr=False)
    extra: frozenset[str] = frozenset()


@attrs.frozen
class SecretExport:
    """The keys to write, and the raw values of the `extra` names for expressions.

    renew_after_seconds: if a request made a new credential, the seconds after which it
    must make the next one; it is not repeated before. None if requests only read: they
    are repeated with the syncs.
    uses_status: whether values come from the status, so that a change of the status is
    a reason to export again.
    """

    secrets: tuple[Export, ...] = ()
    raw: Mapping[str, str] = attrs.field(factory=_no_labels, repr=False)
    renew_after_seconds: float | None = attrs.field(
        default=None, validator=attrs.validators.optional(_delay)
    )
    uses_status: bool = attrs.field(default=True, eq=False)

    def merge(self, other: "SecretExport") -> "SecretExport":
        """Return both exports; a raw value of `other` wins over one of the same
        name.
        """
        several = (self.renew_after_seconds, other.renew_after_seconds)
        return SecretExport(
            self.secrets + other.secrets,
            {**self.raw, **other.raw},
            min((one for one in several if one is not None), default=None),
            self.uses_status or other.uses_status,
        )


@attrs.frozen
class ExportConfigMaps:
    """A request, on each success, for ConfigMap keys that the catalogue does
    not map.
    """

    ctx: ReconcileContext
    obj: JsonObject = attrs.field(repr=False)


@attrs.frozen
class DeleteRequest:
    """A request to delete the Azure resource, repeated until it returns
    `ResourceDeleted`.

    perform: deletes a resource that is not of ARM, in place of a DELETE.
    """

    ctx: ReconcileContext
    obj: JsonObject = attrs.field(repr=False)
    perform: "Callable[[], DeleteResult] | None" = attrs.field(default=None, repr=False)


@attrs.frozen
class ResourceDeleted:
    """The Azure resource no longer exists: the finalizer can be removed."""

    outcome: ClassVar[str] = "deleted"


@attrs.frozen
class InProgress:
    """The deletion is running.

    token: resumes the deletion; if None, the whole point is called again.
    progress: the progress in the DELETE's outcome, so that its polls are counted and
    carry its id.
    """

    outcome: ClassVar[str] = "in-progress"
    after_seconds: float = attrs.field(validator=_delay)
    token: Token | None = attrs.field(default=None, repr=False)
    progress: Progress = NO_PROGRESS


DeleteResult = ResourceDeleted | InProgress


@attrs.frozen
class Success:
    """A notification after each successful reconcile.

    The result is a mapping of annotations to set on the object (empty: none).
    """

    ctx: ReconcileContext
    obj: JsonObject = attrs.field(repr=False)


@attrs.frozen
class Import:
    """A request to decide whether an existing Azure resource is imported as an object.

    obj: the object to be made, with `spec.azureName`; `call_next` fills in spec and
    status, so a decision by name alone needs no request.
    owner_id: the ARM id of its owner, "" for none.
    """

    version: KindVersion
    obj: JsonObject = attrs.field(repr=False)
    owner_id: str = ""


@attrs.frozen
class Imported:
    """The object to write, with its spec and status."""

    outcome: ClassVar[str] = "imported"
    obj: JsonObject = attrs.field(repr=False, validator=_object)


@attrs.frozen
class Skipped:
    """The resource is not imported. reason: a clause, shown after the resource's id."""

    outcome: ClassVar[str] = "skipped"
    reason: str = attrs.field(validator=_stated)


ImportResult = Imported | Skipped
