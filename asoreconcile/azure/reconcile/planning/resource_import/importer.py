"""Imports resources of Azure, and all resources below them, as manifests.

The calling thread hands out tasks and collects results; workers read. If a list fails,
the children in it are missing, but their parent is imported. Resources that were read
are never lost.
"""

import threading
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.bearer import ForeignHostError
from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError, stated_resource
from asoreconcile.azure.arm.ids import ArmId
from asoreconcile.azure.arm.response import PERHAPS_A_PROXY
from asoreconcile.azure.catalogue.arm_to_spec import to_spec
from asoreconcile.azure.catalogue.kinds import Catalogue
from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.middleware.chain import ExtensionFailedError, Extensions
from asoreconcile.azure.middleware.extension_points import IMPORT
from asoreconcile.azure.middleware.extension_set import ExtensionSet
from asoreconcile.azure.middleware.requests import (
    Import,
    Imported,
    ImportResult,
    Skipped,
)
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.azure.reconcile.planning.patient_reads import PatientReads
from asoreconcile.azure.reconcile.planning.resource_import.child_types import (
    RESOURCE_GROUPS,
    ChildTypes,
    ListTask,
    ResourceTask,
    Task,
)
from asoreconcile.azure.reconcile.planning.resource_import.manifests import (
    ImportedManifest,
    inside_parents,
    manifests_of,
    with_pools_apart,
)
from asoreconcile.azure.reconcile.planning.resource_import.options import ImportOptions
from asoreconcile.azure.reconcile.planning.resource_import.report import (
    ImportOutcome,
    ImportReport,
    ImportStatus,
    Reporter,
)
from asoreconcile.base.clock import Clock, SystemClock
from asoreconcile.base.errors import AsoreconcileError, StoppedError
from asoreconcile.base.objects import GroupKind, JsonObject

# An api-version of Microsoft.Resources.
_GROUP_API_VERSION = "2021-04-01"
_READ_FAILURES = (ArmError, ArmTransportError, ExtensionFailedError, ForeignHostError)
# A list of a type that the place does not have: nothing is missing.
_NO_SUCH_LIST = frozenset(
    {
        "BadRequest",
        "NoRegisteredProviderFound",
        "RequestUrlInvalid",
        "ResourceTypeNotSupported",
        "UnsupportedFeature",
        "UnsupportedResourceType",
        "ValidationFailed",
    }
)


class NotImportableError(AsoreconcileError):
    """An id cannot be imported; the message says why, and names a similar type."""


@attrs.frozen
class ImportedResources:
    """The result of an import.

    manifests: the manifests, sorted by group, version, kind and name.
    """

    manifests: tuple[ImportedManifest, ...]
    report: ImportReport


@attrs.frozen
class _Finding:
    """The result of one task.

    found: further tasks. unread: id to continue with if the task was stopped. refused:
    the error if Azure refused the credential.
    """

    outcome: ImportOutcome | None = None
    body: JsonObject | None = None
    found: tuple[Task, ...] = ()
    unread: str = ""
    refused: CredentialError | None = None


class ResourceImporter:
    """Runs one import. `stop` may be called from any thread or signal handler."""

    def __init__(
        self,
        client: ArmClient,
        catalogue: Catalogue,
        extension_sets: Iterable[ExtensionSet] = (),
        *,
        options: ImportOptions | None = None,
        reporter: Reporter | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Raises NotInCatalogueError, UnknownVersionError, ExtensionError."""
        self._options = options or ImportOptions()
        self._reporter = reporter or Reporter()
        self._types = ChildTypes(
            catalogue, versions=self._options.versions, wanted=self._options.wanted
        )
        self._extensions = Extensions.of_catalogue(
            extension_sets, catalogue, ends={IMPORT: self._fill}
        )
        self._stop = threading.Event()
        self._reads = PatientReads(
            client,
            clock=clock or SystemClock(),
            stop=self._stop,
            on_wait=self._reporter.waiting,
        )
        # By key, from the read until its chain has ended.
        self._bodies: dict[str, JsonObject] = {}

    def stop(self) -> None:
        """Make `run` return the resources it has, without further reads.

        May be called from any thread, and not from a signal handler.
        """
        self._stop.set()

    def run(self, arm_ids: Sequence[str]) -> ImportedResources:
        """Read the resources of the ids and all below them. Blocks.

        Raises NotImportableError before any read if an id has no kind, and
        CredentialError if the credential is refused before anything was read. If the
        credential is refused later, the import stops and returns the resources it has.
        """
        waiting: list[Task] = [self._root(text) for text in arm_ids]
        seen: set[str] = set()
        outcomes: list[ImportOutcome] = []
        read: list[tuple[ResourceTask, JsonObject]] = []
        unread: set[str] = set()
        running: dict[Future[_Finding], Task] = {}
        with ThreadPoolExecutor(max(self._options.workers, 1)) as pool:
            while waiting or running:
                fresh = {task.key: task for task in waiting if task.key not in seen}
                # A resource may be named, and listed by its group as well: it is read
                # once.
                seen |= fresh.keys()
                tasks = fresh.values()
                self._reporter.found(sum(isinstance(t, ResourceTask) for t in tasks))
                running |= {pool.submit(self._do, task): task for task in tasks}
                waiting = []
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    task, finding = running.pop(future), future.result()
                    waiting += finding.found
                    unread |= {finding.unread} - {""}
                    if finding.refused is not None:
                        if not read:
                            raise finding.refused
                        if not self._stop.is_set():
                            outcomes.append(_failed(task.root_id, str(finding.refused)))
                        self.stop()
                    if finding.outcome is not None:
                        outcomes.append(finding.outcome)
                        self._reporter.outcome(finding.outcome)
                    if finding.body is not None and isinstance(task, ResourceTask):
                        read.append((task, finding.body))
        read = with_pools_apart(read)
        inside = inside_parents(read)
        report = ImportReport(
            tuple(_without(outcomes, inside)),
            was_stopped=self._stop.is_set(),
            unread=tuple(sorted(unread)),
        )
        return ImportedResources(manifests_of(read, self._options), report)

    def _root(self, text: str) -> ResourceTask:
        try:
            arm_id = ids.parse_stated(text)
        except ids.ArmIdError as error:
            raise NotImportableError(str(error)) from None
        if not arm_id.name:
            raise NotImportableError(f"{text} ends on a type: add the resource's name")
        version = self._types.of(arm_id.type)
        if version is None:
            near = self._types.nearest(arm_id.type)
            raise NotImportableError(
                f"{text}: no kind stands for a {arm_id.type}{near}"
            )
        return ResourceTask(arm_id, version, expected=True)

    def _do(self, task: Task) -> _Finding:
        """Do a task on a worker thread. After `stop` nothing is read."""
        try:
            if isinstance(task, ResourceTask):
                return self._read(task)
            return self._list(task)
        except StoppedError:
            return _Finding(unread=task.root_id)
        except CredentialError as error:
            return _Finding(unread=task.root_id, refused=error)

    def _read(self, resource: ResourceTask) -> _Finding:
        kind, text = resource.version.group_kind, resource.id.text
        request = Import(resource.version, _skeleton(resource), resource.owner_id)
        try:
            result = self._extensions.chain(IMPORT, kind)(request)
        except _READ_FAILURES as error:
            status, reason = _unread_resource(error, expected=resource.expected)
            return _Finding(ImportOutcome(text, kind, status, reason))
        body = self._bodies.pop(resource.key, None)
        if isinstance(result, Skipped) or body is None:
            reason = result.reason if isinstance(result, Skipped) else "was not read"
            return _Finding(ImportOutcome(text, kind, "skipped", reason))
        return _Finding(
            ImportOutcome(text, kind, "imported"), body, tuple(self._below(resource))
        )

    def _fill(self, request: Import) -> ImportResult:
        """Return the imported object, with the spec and status made from its resource.

        This is the last handler in the chain of extensions.
        """
        arm_id = annotations(request.obj)[RESOURCE_ID]
        version = request.version
        body = self._reads.get(arm_id, version.api_version)
        body = stated_resource(body, url=arm_id)
        self._bodies[ids.key(arm_id)] = body
        mapped = to_spec(version, body, name=ids.parse(arm_id).name, secret_name="")
        return Imported(
            {**request.obj, "spec": mapped.spec, "status": status_of(version, body)}
        )

    def _below(self, parent: ResourceTask) -> Iterable[Task]:
        if parent.id.type.lower() == RESOURCE_GROUPS:
            yield ListTask(f"{parent.id.text}/resources")
        yield from self._types.below(parent.id, parent.version)

    def _list(self, task: ListTask) -> _Finding:
        of = task.version
        kind = None if of is None else of.group_kind
        try:
            api_version = _GROUP_API_VERSION if of is None else of.api_version
            entries = [*self._reads.list(task.path, api_version)]
        except _READ_FAILURES as error:
            reason = _unread_list(error)
            if of is None:
                reason = reason or "cannot be listed: it does not exist"
            return _Finding(_failed(task.path, reason, kind) if reason else None)
        listed = [
            (_id_of(entry.get("id")), version)
            for entry in entries
            if (version := of or self._types.in_group(str(entry.get("type"))))
        ]
        found = tuple(
            ResourceTask(arm_id, version)
            for arm_id, version in listed
            if arm_id and task.holds(arm_id, version)
        )
        unread = _unreadable(task.path, [arm_id for arm_id, _ in listed])
        return _Finding(unread, found=found)


def _without(
    outcomes: Iterable[ImportOutcome], inside: Collection[str]
) -> list[ImportOutcome]:
    """Return the outcomes, with resources that are in their parent's spec marked as
    skipped.

    They are sorted by ARM id, so that two runs give the same report.
    """
    return [
        attrs.evolve(one, status="skipped", reason="is in its parent's spec")
        if one.status == "imported" and ids.key(one.arm_id) in inside
        else one
        for one in sorted(outcomes, key=lambda one: one.arm_id.lower())
    ]


def _skeleton(resource: ResourceTask) -> JsonObject:
    """Return the object before the resource is read: it has only its kind, name and ARM
    id.
    """
    version = resource.version
    return {
        "apiVersion": f"{version.gvk.group}/{version.gvk.version}",
        "kind": version.gvk.kind,
        "metadata": {"annotations": {RESOURCE_ID: resource.id.text}},
        "spec": {"azureName": resource.id.name},
    }


def _failed(path: str, reason: str, kind: GroupKind | None = None) -> ImportOutcome:
    """Return the outcome for a list that could not be read."""
    return ImportOutcome(path, kind, "failed", reason, is_list=True)


def _id_of(stated: object) -> ArmId | None:
    """Return the id of an entry in a list; None if it has no valid id."""
    try:
        return ids.parse_stated(stated if isinstance(stated, str) else "")
    except ids.ArmIdError:
        return None


def _unreadable(path: str, arm_ids: Sequence[ArmId | None]) -> ImportOutcome | None:
    """Return the outcome for a list with unreadable entries, or None."""
    count = arm_ids.count(None)
    if not count:
        return None
    reason = f"{count} entries without an id are left out{PERHAPS_A_PROXY}"
    return _failed(path, reason)


def _unread_resource(error: Exception, *, expected: bool) -> tuple[ImportStatus, str]:
    """Return status and reason of a resource that could not be read.

    expected: whether the resource must exist.
    """
    if isinstance(error, ArmError) and error.is_not_found:
        return ("failed" if expected else "skipped"), "the resource does not exist"
    return "failed", _reason(error)


def _unread_list(error: Exception) -> str:
    """Return why a list failed, or "" if the resource has no such list."""
    if isinstance(error, ArmError):
        codes = (error.code, *error.codes)
        if error.is_not_found or (
            error.status == 400 and not _NO_SUCH_LIST.isdisjoint(codes)
        ):
            return ""
    return f"cannot be listed: {_reason(error)}"


def _reason(error: Exception) -> str:
    if isinstance(error, ArmError):
        if error.status == 403:
            return f"access is forbidden ({error.code})"
        return f"{error.status} {error.code}: {error.message}"
    return str(error)
