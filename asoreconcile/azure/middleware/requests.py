"""The request and the result of each extension point, as frozen values.

Requests contain the objects of the reconcile, which extensions read and never change; a
new field never breaks an extension. Expected outcomes are results; failures are
exceptions. Secret values are kept out of every repr.
"""

from collections.abc import Mapping
from typing import ClassVar

import attrs

from asoreconcile.azure.arm.condition_error import RetryClass
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.outcomes import NO_PROGRESS, Progress
from asoreconcile.azure.arm.tokens import Token
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.middleware.context import ReconcileContext
from asoreconcile.base.objects import JsonObject


def _no_labels() -> Mapping[str, str]:
    return {}


@attrs.frozen
class ModifyPayload:
    """The body that is about to be PUT; the result is the body to PUT instead.

    payload: must be returned or copied, never changed in place.
    """

    ctx: ReconcileContext
    obj: JsonObject = attrs.field(repr=False)
    payload: JsonObject = attrs.field(repr=False)


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
    message: str
    retry: RetryClass = RetryClass.SLOW


@attrs.frozen
class Postpone:
    """Send nothing, leave the Ready condition unchanged, and check again later."""

    outcome: ClassVar[str] = "postpone"
    after_seconds: float


PreResult = Proceed | Block | Postpone


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
    status_patch: JsonObject | None = None


@attrs.frozen
class NotReady:
    """The object is written, but not usable yet; shown as `PostReconciliationFailure`,
    retried.
    """

    outcome: ClassVar[str] = "not-ready"
    message: str


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

    name: str
    key: str
    value: str = attrs.field(repr=False)
    labels: Mapping[str, str] = attrs.field(factory=_no_labels)
    annotations: Mapping[str, str] = attrs.field(factory=_no_labels)


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
    """The keys to write, and the raw values of the `extra` names for expressions."""

    secrets: tuple[Export, ...] = ()
    raw: Mapping[str, str] = attrs.field(factory=_no_labels, repr=False)

    def merge(self, other: "SecretExport") -> "SecretExport":
        """Return both exports; a raw value of `other` wins over one of the same
        name.
        """
        return SecretExport(self.secrets + other.secrets, {**self.raw, **other.raw})


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
    """

    ctx: ReconcileContext
    obj: JsonObject = attrs.field(repr=False)


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
    after_seconds: float
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
    obj: JsonObject = attrs.field(repr=False)


@attrs.frozen
class Skipped:
    """The resource is not imported. reason: a clause, shown after the resource's id."""

    outcome: ClassVar[str] = "skipped"
    reason: str


ImportResult = Imported | Skipped
