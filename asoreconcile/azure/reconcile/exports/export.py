"""Exports values of a resource to Secrets and ConfigMaps.

What to write comes from the catalogue (`operatorSpec.configMaps` with a status path),
from extensions and from expressions; `export_plan` merges it and `export_writer` stores
it. Values of Secrets stay out of logs and errors.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Protocol

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.reserved import is_login, is_reserved
from asoreconcile.azure.expressions.api import Expressions
from asoreconcile.azure.expressions.process import EngineMissingError
from asoreconcile.azure.middleware.chain import Extensions
from asoreconcile.azure.middleware.context import ReconcileContext
from asoreconcile.azure.middleware.extension_points import (
    EXPORT_CONFIG_MAPS,
    EXPORT_SECRETS,
)
from asoreconcile.azure.middleware.requests import (
    Export,
    ExportConfigMaps,
    ExportSecrets,
)
from asoreconcile.azure.reconcile.exports.export_expressions import (
    ExportExpressionError,
    ExportExpressions,
)
from asoreconcile.azure.reconcile.exports.export_plan import (
    catalogued_config_maps,
    is_current,
    merged,
    refused,
)
from asoreconcile.azure.reconcile.exports.export_writer import write
from asoreconcile.azure.reconcile.model.annotations import CREDENTIAL_FROM
from asoreconcile.azure.reconcile.model.export_targets import destinations, shown_values
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper
from asoreconcile.azure.reconcile.state.export_cache import (
    EXPORTED,
    note,
    noted_versions,
)
from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
)
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import NotFoundError
from asoreconcile.kube.resources import CONFIG_MAPS, SECRETS
from asoreconcile.redaction import register


class ExportDependencies(Protocol):
    """The parts of the operator that exports need."""

    @property
    def client(self) -> KubeClient:
        """Reads and writes the targets."""

    @property
    def extensions(self) -> Extensions:
        """Fetch the keys of a kind."""

    @property
    def expressions(self) -> Callable[[], Expressions]:
        """Compute exports."""

    @property
    def is_credential(self) -> Callable[[ObjectKey], bool]:
        """Tell whether some object names a Secret as its credential."""


@attrs.frozen
class Exporter:
    """Writes all exports of one object.

    patcher: the object's working copy. context: the context of the reconcile, for
    extensions.
    """

    operator: ExportDependencies
    patcher: PatchHelper
    context: ReconcileContext

    def export(self, current: JsonObject) -> None:
        """Write the Secrets and ConfigMaps of the object.

        current: the object with the status of this reconcile. Secrets whose record
        still holds are left as they are, and Azure is not asked for them
        (`export_cache`). Blocking: a read per target, a write per target that differs.
        Raises ConditionError `FailedWritingAdditionalKubernetesObjects` (Error) for
        targets that are not ours, that are credentials, or that two exports disagree
        about, and for expressions that fail; what extensions raise.
        """
        patcher = self.patcher
        computed = checked_expressions(self.operator, patcher.version, current)
        names = {name for kind, name in destinations(current) if kind == "Secret"}
        self._require_no_credential(names)
        fetch = not self._up_to_date(current, names)
        try:
            secrets = self._secrets(current, computed) if fetch else []
            config_maps = self._config_maps(current, computed)
        except (ExportExpressionError, EngineMissingError) as error:
            raise refused(str(error)) from error
        failures: list[ConditionError] = []
        written: dict[str, str] = {}
        # Extensions name Secrets of their own.
        self._require_no_credential({one.name for one in secrets})
        for resource, exports in ((SECRETS, secrets), (CONFIG_MAPS, config_maps)):
            for target in merged(resource, exports):
                try:
                    version = write(self.operator.client, patcher, resource, target)
                    if resource is SECRETS:
                        written[target.name] = version
                except ConditionError as error:
                    failures.append(error)  # the other targets are still tried
        if failures:
            raise refused("; ".join(str(error) for error in failures))
        # Only if all were written: the record would keep the others from being tried.
        if written:
            patcher.annotate({EXPORTED: note(current, written)})

    def _require_no_credential(self, names: Iterable[str]) -> None:
        """A credential decides which identity others use: no export may make one."""
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
        """Return whether a Secret that an object names as its credential can be one: to
        name a Secret alone must not forbid others to export to it.
        """
        if not self.operator.is_credential(key):
            return False
        try:
            return is_login(self.operator.client.get(SECRETS, key))
        except NotFoundError:
            return False

    def _up_to_date(self, current: JsonObject, names: set[str]) -> bool:
        """Return whether all Secrets to write are unchanged since we wrote them, and so
        are their inputs.
        """
        if not names:
            return False
        patcher = self.patcher
        noted = noted_versions(current, patcher.annotations.get(EXPORTED) or "")
        if noted.keys() != names:
            return False
        for name in sorted(names):
            try:
                present = self.operator.client.get(
                    SECRETS, ObjectKey(patcher.key.namespace, name)
                )
            except NotFoundError:
                return False
            if not is_current(present, patcher.obj, noted[name]):
                return False
        return True

    def _secrets(
        self, current: JsonObject, computed: ExportExpressions
    ) -> list[Export]:
        """The exports to Secrets. Rule: R9.6."""
        group_kind = self.patcher.version.group_kind
        chain = self.operator.extensions.chain(EXPORT_SECRETS, group_kind)
        found = chain(
            ExportSecrets(ctx=self.context, obj=current, extra=computed.secret_names())
        )
        fetched = [one.value for one in found.secrets]
        self._keep_secret(current, [*found.raw.values(), *fetched])
        made = computed.secrets(found.raw)
        self._keep_secret(current, [one.value for one in made])
        return [*found.secrets, *made]

    def _keep_secret(self, current: JsonObject, values: Collection[str]) -> None:
        """Hide values in texts, except those that the object itself shows, such as an
        address.
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
        """The exports to ConfigMaps. Rule: R9.6."""
        version = self.patcher.version
        chain = self.operator.extensions.chain(EXPORT_CONFIG_MAPS, version.group_kind)
        return [
            *catalogued_config_maps(current, version.exports.config_map_paths),
            *chain(ExportConfigMaps(ctx=self.context, obj=current)),
            *computed.config_maps(),
        ]


def checked_expressions(
    operator: ExportDependencies, version: KindVersion, obj: JsonObject
) -> ExportExpressions:
    """The expressions of an object, after each was checked for mistakes.

    Costs nothing if there are none. Raises ConditionError as `Exporter.export` does,
    naming every mistake; nothing is evaluated, and Azure is not asked.
    """
    computed = ExportExpressions(operator.expressions(), version, obj)
    try:
        problems = computed.problems()
    except EngineMissingError as error:
        raise refused(str(error)) from error
    if problems:
        raise refused(str(ExportExpressionError(problems)))
    return computed
