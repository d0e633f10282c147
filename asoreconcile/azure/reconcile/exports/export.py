"""Exports values of a resource to Secrets and ConfigMaps.

The values to write come from the catalogue (`operatorSpec.configMaps` with a status
path), from extensions and from expressions; `export_plan` merges them and
`export_writer` stores them. Values of Secrets stay out of logs and errors.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.reserved import (
    EXPORT_MARK,
    export_parts,
    is_login,
    is_reserved,
)
from asoreconcile.azure.expressions.process import EngineMissingError
from asoreconcile.azure.middleware.chain import ExtensionFailedError
from asoreconcile.azure.middleware.context import ReconcileContext
from asoreconcile.azure.middleware.extension_points import (
    EXPORT_CONFIG_MAPS,
    EXPORT_SECRETS,
)
from asoreconcile.azure.middleware.requests import (
    Export,
    ExportConfigMaps,
    ExportSecrets,
    SecretExport,
)
from asoreconcile.azure.middleware.secret_exporters import no_value
from asoreconcile.azure.reconcile.exports.export_expressions import (
    ExportExpressionError,
    ExportExpressions,
)
from asoreconcile.azure.reconcile.exports.export_plan import (
    ExportTarget,
    catalogued_config_maps,
    content_of,
    is_owned,
    merged,
    refused,
)
from asoreconcile.azure.reconcile.exports.export_writer import read, write
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import CREDENTIAL_FROM
from asoreconcile.azure.reconcile.model.birth import birth_of
from asoreconcile.azure.reconcile.model.conditions import EXPORT_REFUSED, is_ready
from asoreconcile.azure.reconcile.model.export_targets import destinations, shown_values
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.put_budget import MOST_PUTS
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper
from asoreconcile.azure.reconcile.scope.shared_dependencies import SharedDependencies
from asoreconcile.azure.reconcile.state.export_cache import (
    EXPORTED,
    ExportRecord,
    ExportTry,
    fingerprint,
    is_due,
    loads,
    may_retry,
    withdrawn,
)
from asoreconcile.azure.reconcile.state.memory import ObjectMemory
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    key_of,
    resource_version,
    status,
)
from asoreconcile.kube.resources import CONFIG_MAPS, SECRETS, ApiResource
from asoreconcile.redaction import register

# Failures of a request for values, or of its answer: the targets keep what they have.
# Others, such as a conflict or the end of the process, are not about the values.
FetchFailure = ArmError | ArmTransportError | ConditionError | ExtensionFailedError
RESTORED = "ExportRestored"
_RESOURCES = {one.kind: one for one in (SECRETS, CONFIG_MAPS)}
_FAILURES = (ArmError, ArmTransportError, ConditionError, ExtensionFailedError)


@attrs.frozen
class Exported:
    """The result of an export.

    is_fetched: whether the values were computed again. failure: why they could not be
    computed, so that the targets keep the values of the last export; None if nothing
    failed.
    """

    is_fetched: bool = False
    failure: FetchFailure | None = None


@attrs.frozen
class Exporter:
    """Writes all exports of one object.

    patcher: the object's working copy. context: the context of the reconcile, for
    extensions. memory: the process's memory of the object. period_seconds: the sync
    period; None if there are no syncs.
    """

    operator: SharedDependencies
    patcher: PatchHelper
    context: ReconcileContext
    memory: ObjectMemory
    period_seconds: float | None
    # The targets as the first read of this export has found them.
    _found: dict[ObjectReference, JsonObject | None] = attrs.field(
        factory=dict, init=False, repr=False
    )

    def export(self, current: JsonObject) -> Exported:
        """Write the Secrets and ConfigMaps of the object.

        current: the object with the status of this reconcile. Azure is asked for the
        values of Secrets if the inputs, the resource or the Secrets have changed, and
        when they are due (`export_cache`). A target that was deleted or changed since
        the last export is an event, at most 20 times an hour. Blocking: a read per
        target, a write per target that differs. Raises ConditionError
        `FailedWritingAdditionalKubernetesObjects`: Error for targets that the object
        does not own, that are credentials, or for which two exports give different
        values, and for expressions that fail; Warning if the 20 are spent. Also
        raises the exceptions of extensions, unless the object is Ready and each target
        still has the values of the last export.
        """
        patcher = self.patcher
        computed = checked_expressions(self.operator, patcher.version, current)
        names = {name for kind, name in destinations(current) if kind == "Secret"}
        self._require_no_credential(names)
        noted = patcher.annotations.get(EXPORTED)
        record = loads(noted) if noted else None
        lost = self._lost(record)
        is_kept = self._is_kept(names, record)
        fetch = self._is_due(current, record, is_kept=is_kept)
        if lost and record and record.is_of(current):
            self._count_loss()
        try:
            found, config_maps = self._values(current, computed, fetch=fetch)
        except _FAILURES as error:
            if fetch and record is not None:
                self._note_try(record.fingerprint(current), current)
            if is_kept and self._is_ready() and self._are_there(current):
                return Exported(failure=error)
            raise
        written = self._write(found.secrets, config_maps)
        for node in lost.keys() & written.keys():
            self.context.event(
                "Warning", RESTORED, f"{lost[node]}: it is written again"
            )
        if fetch or record is None:
            record = self._fetched(current, found)
        self._record(record, written)
        return Exported(is_fetched=fetch)

    def _lost(self, record: ExportRecord | None) -> dict[ObjectReference, str]:
        """Return the targets that are no longer as the last export left them, with a
        sentence about each.
        """
        lost = {}
        for kind, name, of in () if record is None else record.targets():
            resource, node = _RESOURCES[kind], self._node(kind, name)
            present = self._target(resource, name)
            if present is None:
                lost[node] = f"{kind} {name!r} was deleted"
            elif not self._is_as_written(present, of) and (
                record is None
                or resource_version(present) != record.versions.get(f"{kind}/{name}")
            ):
                lost[node] = f"{kind} {name!r} differs from what was exported last"
        return lost

    def _count_loss(self) -> None:
        """Count an export that is repeated because another writer has deleted or
        changed its targets. Raises ConditionError if there were too many.
        """
        memory, now = self.memory, self.context.clock.monotonic()
        if wait := memory.repeated_exports.wait(now):
            raise ConditionError(
                "another writer has deleted or changed the exported Secrets and "
                f"ConfigMaps {MOST_PUTS} times in an hour: they are written again once "
                "the hour is over. Keep the writer from it, or export to another name",
                reason=EXPORT_REFUSED,
                after_seconds=wait,
            )
        memory.repeated_exports = memory.repeated_exports.spent(now)

    def _values(
        self, current: JsonObject, computed: ExportExpressions, *, fetch: bool
    ) -> tuple[SecretExport, list[Export]]:
        try:
            found = self._secrets(current, computed) if fetch else SecretExport()
            return found, self._config_maps(current, computed)
        except (ExportExpressionError, EngineMissingError) as error:
            raise refused(str(error)) from error

    def _write(
        self, secrets: Sequence[Export], config_maps: Sequence[Export]
    ) -> dict[ObjectReference, JsonObject]:
        """Write all targets; return them as they are stored."""
        failures: list[ConditionError] = []
        written: dict[ObjectReference, JsonObject] = {}
        # Extensions name Secrets of their own.
        self._require_no_credential({one.name for one in secrets})
        for resource, exports in ((SECRETS, secrets), (CONFIG_MAPS, config_maps)):
            for found in merged(resource, exports):
                target = self._marked(found) if resource is SECRETS else found
                node = self._node(resource.kind, target.name)
                try:
                    present = self._target(resource, target.name)
                    written[node] = write(
                        self.operator, self.patcher, resource, target, present
                    )
                except ConditionError as error:
                    failures.append(error)  # the other targets are still tried
        # Only if all were written: the record would keep the others from being tried.
        if failures:
            raise refused("; ".join(str(error) for error in failures))
        return written

    def _marked(self, target: ExportTarget) -> ExportTarget:
        """Return the target with an annotation that marks it as an export.

        The operator never uses a marked Secret as a credential. The spec cannot set the
        annotation to another value.
        """
        key = ObjectKey(self.patcher.key.namespace, target.name)
        mark = self.operator.record_key().sign(export_parts(key))
        marked = {**target.annotations, EXPORT_MARK: mark}
        return attrs.evolve(target, annotations=marked)

    def _fetched(self, current: JsonObject, found: SecretExport) -> ExportRecord:
        """Return the record of fetched values, without the targets."""
        renew = found.renew_after_seconds
        uses_status, is_made = found.uses_status, renew is not None
        of = fingerprint(current, uses_status=uses_status, is_made=is_made)
        self._note_try(of, current)
        now = self.context.clock.now().timestamp()
        renew_at = None if renew is None else now + renew
        born = birth_of(status(current))
        return ExportRecord(of, {}, uses_status, renew_at, born)

    def _record(
        self, record: ExportRecord, written: Mapping[ObjectReference, JsonObject]
    ) -> None:
        """Record the targets. record: has the hashes of Secrets that were not written,
        because they are as they were.
        """
        patcher, key = self.patcher, self.operator.record_key()
        kept = {self._node("Secret", name): name for name in record.secrets}
        stored = {node: self._target(SECRETS, name) for node, name in kept.items()}
        hashes = {"Secret": dict(record.secrets), "ConfigMap": dict[str, str]()}
        versions = {}
        for node, one in {**stored, **written}.items():
            if one is None:
                continue
            kind, name = node.group_kind.kind, node.key.name
            versions[f"{kind}/{name}"] = resource_version(one)
            self.operator.exported.note(node, one)
            if node in written:
                hashes[kind][name] = key.keyed_hash(content_of(one))
        if not versions:
            if patcher.annotations.get(EXPORTED):
                patcher.annotate({EXPORTED: None})
            return
        record = attrs.evolve(
            record,
            secrets=hashes["Secret"],
            config_maps=hashes["ConfigMap"],
            versions=versions,
        )
        patcher.annotate({EXPORTED: record.dumps()})

    def _note_try(self, of: str, current: JsonObject) -> None:
        now = self.context.clock.monotonic()
        self.memory.export_try = ExportTry(_inputs(of, current), now)

    def _is_due(
        self, current: JsonObject, record: ExportRecord | None, *, is_kept: bool
    ) -> bool:
        """Return whether the values of Secrets are computed in this reconcile."""
        # Without Secrets, an extension may still begin to export some.
        if record is None or not record.secrets or not is_kept:
            return True
        last, monotonic = self.memory.export_try, self.context.clock.monotonic()
        of = record.fingerprint(current)
        if not record.is_of(current):
            of = _inputs(of, current)
            return not self._is_ready() or may_retry(last, of, monotonic=monotonic)
        return is_due(
            record,
            last,
            period_seconds=self.period_seconds,
            monotonic=monotonic,
            now=self.context.clock.now().timestamp(),
        )

    def _is_ready(self) -> bool:
        """Return whether the object was Ready with this generation before."""
        return is_ready(self.patcher.obj, self.patcher.generation)

    def _is_kept(self, names: AbstractSet[str], record: ExportRecord | None) -> bool:
        """Return whether each Secret to write still has the values of the last export.

        names: the Secrets that the spec names; an extension may write others.
        """
        if record is None:
            return not names
        return names <= record.secrets.keys() and all(
            (present := self._target(SECRETS, name)) is not None
            and self._is_as_written(present, of)
            for name, of in sorted(record.secrets.items())
        )

    def _is_as_written(self, present: JsonObject, of: str) -> bool:
        """Return whether an owned target has the content with this hash."""
        return is_as_written(self.operator, self.patcher.obj, present, of)

    def _are_there(self, current: JsonObject) -> bool:
        """Return whether each ConfigMap that the spec names exists and is owned by the
        object.
        """
        names = {name for kind, name in destinations(current) if kind == "ConfigMap"}
        found = [self._target(CONFIG_MAPS, name) for name in sorted(names)]
        return all(one is not None and is_owned(one, self.patcher.obj) for one in found)

    def _node(self, kind: str, name: str) -> ObjectReference:
        key = ObjectKey(self.patcher.key.namespace, name)
        return ObjectReference(GroupKind("", kind), key)

    def _target(self, resource: ApiResource, name: str) -> JsonObject | None:
        """Return a target, which is read once; None if it does not exist."""
        node = self._node(resource.kind, name)
        if node not in self._found:
            self._found[node] = read(self.operator.client, resource, node.key)
        return self._found[node]

    def _require_no_credential(self, names: Iterable[str]) -> None:
        """Raise ConditionError if a Secret to write is a credential.

        A credential decides which identity other objects use, so no export may write
        one.
        """
        patcher = self.patcher
        for name in sorted(names):
            own = patcher.annotations.get(CREDENTIAL_FROM) == name
            key = ObjectKey(patcher.key.namespace, name)
            if own or is_reserved(name) or self._is_login(key):
                raise refused(
                    f"Secret {name!r} is a credential of the operator or of objects in "
                    "this namespace, and cannot be exported into: choose another name"
                )

    def _is_login(self, key: ObjectKey) -> bool:
        """Return whether an object names a Secret as its credential, and the Secret can
        be one.

        If naming a Secret were enough, any author could keep others from exporting to
        it.
        """
        if not self.operator.is_credential(key):
            return False
        present = self._target(SECRETS, key.name)
        return present is not None and is_login(present)

    def _secrets(
        self, current: JsonObject, computed: ExportExpressions
    ) -> SecretExport:
        """Return the exports to Secrets. Rule: R9.6."""
        group_kind = self.patcher.version.group_kind
        chain = self.operator.extensions.chain(EXPORT_SECRETS, group_kind)
        found = chain(
            ExportSecrets(ctx=self.context, obj=current, extra=computed.secret_names())
        )
        fetched = [one.value for one in found.secrets]
        self._keep_secret(current, [*found.raw.values(), *fetched])
        for one in found.secrets:
            if not one.value:
                raise no_value(one.key, f"the export to Secret {one.name!r}")
        made = computed.secrets(found.raw)
        self._keep_secret(current, [one.value for one in made])
        return attrs.evolve(found, secrets=(*found.secrets, *made))

    def _keep_secret(self, current: JsonObject, values: Collection[str]) -> None:
        """Hide values in logs and messages, except those that the object shows, such as
        an address.
        """
        if not values:
            return
        shown = shown_values(current)
        for value in values:
            if value not in shown:
                register(value, namespace=self.patcher.key.namespace)

    def _config_maps(
        self, current: JsonObject, computed: ExportExpressions
    ) -> list[Export]:
        """Return the exports to ConfigMaps. Rule: R9.6."""
        version = self.patcher.version
        chain = self.operator.extensions.chain(EXPORT_CONFIG_MAPS, version.group_kind)
        return [
            *catalogued_config_maps(current, version.exports.config_map_paths),
            *chain(ExportConfigMaps(ctx=self.context, obj=current)),
            *computed.config_maps(),
        ]


def forget_exports(patcher: PatchHelper, memory: ObjectMemory) -> None:
    """Have the values of an object's Secrets fetched again, because its resource was
    made again: the keys of the former one are dead.
    """
    if noted := patcher.annotations.get(EXPORTED):
        patcher.annotate({EXPORTED: withdrawn(noted)})
        memory.export_try = None


def _inputs(of: str, current: JsonObject) -> str:
    """Return a fingerprint of inputs together with the birth of the resource."""
    return f"{of} {birth_of(status(current))}"


def is_as_left(operator: SharedDependencies, obj: JsonObject) -> bool:
    """Return whether the exports of an object are as the last export has left them.

    obj: reads its namespace, uid, exports and the record of the last export. Only
    targets whose version in the cache is not the recorded one are read. A ConfigMap in
    no record counts if it exists. Blocking.
    """
    namespace = key_of(obj).namespace
    noted = annotations(obj).get(EXPORTED)
    record = loads(noted) if noted else None
    hashes = {} if record is None else {(k, n): of for k, n, of in record.targets()}
    for kind, name in sorted(destinations(obj) | hashes.keys()):
        node = ObjectReference(GroupKind("", kind), ObjectKey(namespace, name))
        recorded = "" if record is None else record.versions.get(f"{kind}/{name}", "")
        if recorded and operator.exported.shown(node) == recorded:
            continue
        present = read(operator.client, _RESOURCES[kind], node.key)
        of = hashes.get((kind, name))
        is_unknown = of is None and kind == "ConfigMap"
        if present is None or not (
            is_unknown or (of and is_as_written(operator, obj, present, of))
        ):
            return False
    return True


def is_as_written(
    operator: SharedDependencies, owner: JsonObject, present: JsonObject, of: str
) -> bool:
    """Return whether a target has the owner's reference and the content with a hash."""
    content = content_of(present)
    return is_owned(present, owner) and operator.record_key().is_hash_of(content, of)


def checked_expressions(
    operator: SharedDependencies, version: KindVersion, obj: JsonObject
) -> ExportExpressions:
    """Return the expressions of an object, after each was checked for mistakes.

    Nothing is evaluated, and no request is sent to Azure. Raises ConditionError, as
    `Exporter.export` does, which names every mistake.
    """
    computed = ExportExpressions(operator.expressions(), version, obj)
    try:
        problems = computed.problems()
    except EngineMissingError as error:
        raise refused(str(error)) from error
    if problems:
        raise refused(str(ExportExpressionError(problems)))
    return computed
