"""The requests and results of the extension points: one frozen pair per point.

Requests carry the objects of the reconcile, which extensions read and never change; a
new field never breaks an extension. Expected outcomes are results; failures are
exceptions. Values of secrets are kept out of every repr.
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
    """The body about to be PUT. The result is the body to PUT instead.

    payload is returned or copied, never changed in place.
    """

    ctx: ReconcileContext
    obj: JsonObject = attrs.field(repr=False)
    payload: JsonObject = attrs.field(repr=False)


@attrs.frozen
class PreReconcileOwner:
    """Before anything is sent for a child: may it be written in its owner's present
    state?

    owner: the owner's CR with the status of a GET of this reconcile; never None, as the
    point does not run for objects without an owner. obj: the child.
    """

    ctx: ReconcileContext
    owner: JsonObject = attrs.field(repr=False)
    obj: JsonObject = attrs.field(factory=dict, repr=False)


@attrs.frozen
class PreReconcile:
    """Before a PUT, after a fresh GET: may the object be written?

    obj: the CR with fresh status. Before the first create the status is empty: absent
    values must not block.
    """

    ctx: ReconcileContext
    obj: JsonObject = attrs.field(repr=False)


@attrs.frozen
class Proceed:
    """A check has passed: continue with the next one, and then the PUT."""

    outcome: ClassVar[str] = "proceed"


@attrs.frozen
class Block:
    """Send nothing; shown as `ReconciliationBlocked` with the message, then retried."""

    outcome: ClassVar[str] = "block"
    message: str
    retry: RetryClass = RetryClass.SLOW


@attrs.frozen
class Postpone:
    """Send nothing and leave the Ready condition as it is; requeue."""

    outcome: ClassVar[str] = "postpone"
    after_seconds: float


PreResult = Proceed | Block | Postpone


@attrs.frozen
class PostReconcile:
    """After a successful write and GET: is the resource usable?

    obj: the CR with fresh status. owner: the cached owner's CR, not refreshed; None for
    ARM-id owners and kinds without one.
    """

    ctx: ReconcileContext
    obj: JsonObject = attrs.field(repr=False)
    owner: JsonObject | None = attrs.field(default=None, repr=False)


@attrs.frozen
class Ready:
    """The object is Ready.

    status_patch: a JSON merge patch on `status` (null removes a field), if any.
    """

    outcome: ClassVar[str] = "ready"
    status_patch: JsonObject | None = None


@attrs.frozen
class NotReady:
    """Written, but not usable yet; shown as `PostReconciliationFailure`, retried."""

    outcome: ClassVar[str] = "not-ready"
    message: str


PostResult = Ready | NotReady


@attrs.frozen
class ClassifyError:
    """The classification of an ARM error of this kind: severity and retry class."""

    version: KindVersion
    error: ArmError


@attrs.frozen
class Export:
    """One key of a Secret or ConfigMap in the object's namespace.

    The value is never in a repr.
    """

    name: str
    key: str
    value: str = attrs.field(repr=False)
    labels: Mapping[str, str] = attrs.field(factory=_no_labels)
    annotations: Mapping[str, str] = attrs.field(factory=_no_labels)


@attrs.frozen
class ExportSecrets:
    """On each success: the exports to Secrets.

    extra: names of secrets that the object's expressions use, whether or not
    `spec.operatorSpec.secrets` asks for them.
    """

    ctx: ReconcileContext
    obj: JsonObject = attrs.field(repr=False)
    extra: frozenset[str] = frozenset()


@attrs.frozen
class SecretExport:
    """Keys to write, and the raw values of the `extra` names for expressions."""

    secrets: tuple[Export, ...] = ()
    raw: Mapping[str, str] = attrs.field(factory=_no_labels, repr=False)

    def merge(self, other: "SecretExport") -> "SecretExport":
        """Both exports merged; a raw value of `other` wins over one of the same
        name.
        """
        return SecretExport(self.secrets + other.secrets, {**self.raw, **other.raw})


@attrs.frozen
class ExportConfigMaps:
    """On each success: ConfigMap keys beyond those that the catalogue maps."""

    ctx: ReconcileContext
    obj: JsonObject = attrs.field(repr=False)


@attrs.frozen
class DeleteRequest:
    """Delete the Azure resource. Repeated until the result is `ResourceDeleted`."""

    ctx: ReconcileContext
    obj: JsonObject = attrs.field(repr=False)


@attrs.frozen
class ResourceDeleted:
    """The Azure resource is gone: the finalizer may be removed."""

    outcome: ClassVar[str] = "deleted"


@attrs.frozen
class InProgress:
    """Deletion is running; token resumes it, None runs the whole point again.

    progress: of the running DELETE, from its outcome: the number of polls, and their
    request id.
    """

    outcome: ClassVar[str] = "in-progress"
    after_seconds: float
    token: Token | None = attrs.field(default=None, repr=False)
    progress: Progress = NO_PROGRESS


DeleteResult = ResourceDeleted | InProgress


@attrs.frozen
class Success:
    """After each successful reconcile; the result changes annotations.

    The result is a mapping of annotations to set on the object (empty: none).
    """

    ctx: ReconcileContext
    obj: JsonObject = attrs.field(repr=False)


@attrs.frozen
class Import:
    """Decide whether an existing Azure resource becomes an object.

    obj: the object it would become, with `spec.azureName`; `call_next` fills in spec
    and status, so a decision by the name alone costs no request. owner_id: the ARM id
    of its owner, "" for none.
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
    """Not imported; reason is a clause, shown behind the resource's id."""

    outcome: ClassVar[str] = "skipped"
    reason: str


ImportResult = Imported | Skipped
