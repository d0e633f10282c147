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
from asoreconcile.azure.reconcile.exports.export_writer import write
from asoreconcile.azure.reconcile.model.annotations import CREDENTIAL_FROM
from asoreconcile.azure.reconcile.model.conditions import is_ready
from asoreconcile.azure.reconcile.model.export_targets import destinations, shown_values
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
)
from asoreconcile.azure.reconcile.state.memory import ObjectMemory
from asoreconcile.base.objects import JsonObject, ObjectKey
from asoreconcile.kube.errors import NotFoundError
from asoreconcile.kube.resources import CONFIG_MAPS, SECRETS, ApiResource
from asoreconcile.redaction import register

# Failures of a request for values, or of its answer: the targets keep what they have.
# Others, such as a conflict or the end of the process, are not about the values.
FetchFailure = ArmError | ArmTransportError | ConditionError | ExtensionFailedError
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

    def export(self, current: JsonObject) -> Exported:
        """Write the Secrets and ConfigMaps of the object.

        current: the object with the status of this reconcile. Azure is asked for the
        values of Secrets if the inputs or the Secrets have changed, and when they are
        due (`export_cache`). Blocking: a read per target, a write per target that
        differs. Raises ConditionError `FailedWritingAdditionalKubernetesObjects`
        (Error) for targets that the object does not own, that are credentials, or for
        which two exports give different values, and for expressions that fail. Also
        raises the exceptions of extensions, unless the object is Ready and each target
        still has the values of the last export.
        """
        patcher = self.patcher
        computed = checked_expressions(self.operator, patcher.version, current)
        names = {name for kind, name in destinations(current) if kind == "Secret"}
        self._require_no_credential(names)
        noted = patcher.annotations.get(EXPORTED)
        record = loads(noted) if noted else None
        is_kept = self._is_kept(names, record)
        fetch = self._is_due(current, record, is_kept=is_kept)
        if record and not is_kept and record.of == record.fingerprint(current):
            self._count_loss()
        try:
            found, config_maps = self._values(current, computed, fetch=fetch)
        except _FAILURES as error:
            if fetch and record is not None:
                self._note_try(record.fingerprint(current))
            if is_kept and self._is_ready() and self._are_there(current):
                return Exported(failure=error)
            raise
        written = self._write(found.secrets, config_maps)
        if fetch:
            self._record(current, found, written)
        return Exported(is_fetched=fetch)

    def _count_loss(self) -> None:
        """Count an export that is repeated because another writer has deleted or
        changed its Secrets. Raises ConditionError if there were too many.
        """
        memory, now = self.memory, self.context.clock.monotonic()
        if memory.repeated_exports.wait(now):
            raise refused(
                "another writer has deleted or changed the exported Secrets "
                f"{MOST_PUTS} times in an hour: they are written again once the hour "
                "is over. Keep the writer from it, or export to another name"
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
    ) -> dict[str, str]:
        """Write all targets; return a hash of each Secret's content by name."""
        failures: list[ConditionError] = []
        written: dict[str, str] = {}
        # Extensions name Secrets of their own.
        self._require_no_credential({one.name for one in secrets})
        for resource, exports in ((SECRETS, secrets), (CONFIG_MAPS, config_maps)):
            for found in merged(resource, exports):
                target = self._marked(found) if resource is SECRETS else found
                try:
                    stored = write(self.operator.client, self.patcher, resource, target)
                    if resource is SECRETS:
                        key = self.operator.record_key()
                        written[target.name] = key.keyed_hash(content_of(stored))
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
        notes = {**target.annotations, EXPORT_MARK: mark}
        return attrs.evolve(target, annotations=notes)

    def _record(
        self, current: JsonObject, found: SecretExport, written: Mapping[str, str]
    ) -> None:
        patcher = self.patcher
        if not written:
            if patcher.annotations.get(EXPORTED):
                patcher.annotate({EXPORTED: None})
            return
        renew = found.renew_after_seconds
        now = self.context.clock.now().timestamp()
        uses_status, is_made = found.uses_status, renew is not None
        of = fingerprint(current, uses_status=uses_status, is_made=is_made)
        renew_at = None if renew is None else now + renew
        record = ExportRecord(of, written, uses_status, renew_at)
        patcher.annotate({EXPORTED: record.dumps()})
        self._note_try(of)

    def _note_try(self, of: str) -> None:
        self.memory.export_try = ExportTry(of, self.context.clock.monotonic())

    def _is_due(
        self, current: JsonObject, record: ExportRecord | None, *, is_kept: bool
    ) -> bool:
        """Return whether the values of Secrets are computed in this reconcile."""
        if record is None or not is_kept:
            return True
        last, monotonic = self.memory.export_try, self.context.clock.monotonic()
        of = record.fingerprint(current)
        if record.of != of:
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
        key = self.operator.record_key()
        return names <= record.secrets.keys() and all(
            (present := self._target(SECRETS, name)) is not None
            and is_owned(present, self.patcher.obj)
            and key.is_hash_of(content_of(present), of)
            for name, of in sorted(record.secrets.items())
        )

    def _are_there(self, current: JsonObject) -> bool:
        """Return whether each ConfigMap that the spec names exists and is owned by the
        object.
        """
        names = {name for kind, name in destinations(current) if kind == "ConfigMap"}
        found = [self._target(CONFIG_MAPS, name) for name in sorted(names)]
        return all(one is not None and is_owned(one, self.patcher.obj) for one in found)

    def _target(self, resource: ApiResource, name: str) -> JsonObject | None:
        try:
            key = ObjectKey(self.patcher.key.namespace, name)
            return self.operator.client.get(resource, key)
        except NotFoundError:
            return None

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
