"""Exports values of a resource to Secrets and ConfigMaps.

What to write comes from the catalogue (`operatorSpec.configMaps` with a status path),
from extensions and from expressions; `export_plan` merges it and `export_writer` stores
it. Values of Secrets stay out of logs and errors.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.catalogue.reserved import is_reserved
from asoreconcile.azure.expressions.process import EngineMissingError
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
from asoreconcile.azure.reconcile.model.export_targets import destinations
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.state.export_cache import (
    EXPORTED,
    note,
    noted_versions,
)
from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    spec,
    status,
)
from asoreconcile.kube.errors import NotFoundError
from asoreconcile.kube.resources import CONFIG_MAPS, SECRETS
from asoreconcile.redaction import register


def export(scope: ReconcileScope, current: JsonObject) -> None:
    """Write all that the resource exports.

    current: the object with the status of this reconcile. Secrets that are up to date
    by their record are not written, and Azure is not asked for their values
    (`export_cache`). Blocking: a read per target, a write per target that differs.
    Raises ConditionError `FailedWritingAdditionalKubernetesObjects` (Error) for targets
    that are not ours, that are credentials, or that two exports disagree about, and for
    expressions that fail; what extensions raise.
    """
    computed = checked_expressions(scope, current)
    names = {name for kind, name in destinations(current) if kind == "Secret"}
    _require_no_credential(scope, names)
    fetch = not _up_to_date(scope, current, names)
    try:
        secrets = _secrets(scope, current, computed) if fetch else []
        config_maps = _config_maps(scope, current, computed)
    except (ExportExpressionError, EngineMissingError) as error:
        raise refused(str(error)) from error
    failures: list[ConditionError] = []
    written: dict[str, str] = {}
    # Extensions may name further Secrets.
    _require_no_credential(scope, {one.name for one in secrets})
    for resource, exports in ((SECRETS, secrets), (CONFIG_MAPS, config_maps)):
        for target in merged(resource, exports):
            try:
                version = write(scope, resource, target)
                if resource is SECRETS:
                    written[target.name] = version
            except ConditionError as error:
                failures.append(error)  # the other targets are still tried
    if failures:
        raise refused("; ".join(str(error) for error in failures))
    # Only after all were written: with a record the others would not be retried.
    if written:
        scope.patcher.annotate({EXPORTED: note(current, written)})


def _require_no_credential(scope: ReconcileScope, names: Iterable[str]) -> None:
    """No export may write a Secret that is a credential: it decides other objects'
    identity.
    """
    for name in sorted(names):
        own = scope.patcher.annotation(CREDENTIAL_FROM) == name
        key = ObjectKey(scope.key.namespace, name)
        if own or is_reserved(name) or scope.operator.is_credential(key):
            raise refused(
                f"Secret {name!r} is a credential of the operator or of objects in "
                "this namespace, and cannot be exported into: choose another name"
            )


def _up_to_date(scope: ReconcileScope, current: JsonObject, names: set[str]) -> bool:
    """Whether all Secrets to write are unchanged, and so are the values they are made
    from.
    """
    noted = noted_versions(current, scope.patcher.annotation(EXPORTED))
    if not names or noted.keys() != names:
        return False
    for name in sorted(names):
        try:
            present = scope.operator.client.get(
                SECRETS, ObjectKey(scope.key.namespace, name)
            )
        except NotFoundError:
            return False
        if not is_current(present, scope.obj, noted[name]):
            return False
    return True


def checked_expressions(scope: ReconcileScope, obj: JsonObject) -> ExportExpressions:
    """The expressions of an object, after a check of each for mistakes.

    Costs nothing when there are none. Raises ConditionError as `export` does, naming
    every mistake; nothing is evaluated, and Azure is not asked.
    """
    expressions = scope.operator.expressions()
    computed = ExportExpressions(expressions, scope.version, obj)
    try:
        problems = computed.problems()
    except EngineMissingError as error:
        raise refused(str(error)) from error
    if problems:
        raise refused(str(ExportExpressionError(problems)))
    return computed


def _secrets(
    scope: ReconcileScope, current: JsonObject, computed: ExportExpressions
) -> list[Export]:
    """The exports to Secrets. Rule: R9.6."""
    chain = scope.operator.extensions.chain(EXPORT_SECRETS, scope.kind.group_kind)
    found = chain(
        ExportSecrets(ctx=scope.context, obj=current, extra=computed.secret_names())
    )
    _keep_secret(scope, current, [*found.raw.values(), *_values(found.secrets)])
    made = computed.secrets(found.raw)
    _keep_secret(scope, current, _values(made))
    return [*found.secrets, *made]


def _values(exports: Iterable[Export]) -> list[str]:
    return [one.value for one in exports]


def _keep_secret(
    scope: ReconcileScope, current: JsonObject, values: Iterable[str]
) -> None:
    """Hide values in logs and messages, except those that the object itself shows, such
    as an address.
    """
    values = list(values)
    if not values:
        return
    shown = set(_leaves([spec(current), status(current)]))
    for value in values:
        if value not in shown:
            register(value, namespace=scope.key.namespace)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _leaves(inner)
    elif value is not None:
        yield str(value)


def _config_maps(
    scope: ReconcileScope, current: JsonObject, computed: ExportExpressions
) -> list[Export]:
    """The exports to ConfigMaps. Rule: R9.6."""
    chain = scope.operator.extensions.chain(EXPORT_CONFIG_MAPS, scope.kind.group_kind)
    return [
        *catalogued_config_maps(current, scope.version.exports.config_map_paths),
        *chain(ExportConfigMaps(ctx=scope.context, obj=current)),
        *computed.config_maps(),
    ]
