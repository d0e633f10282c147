"""Values of a resource written where others can use them: Secrets and ConfigMaps.

What to write comes from the catalogue (`operatorSpec.configMaps` with a status path),
from extensions and from expressions. A target must not exist, or be owned by the
resource: we never write into somebody else's object (R9.1). Values of Secrets stay out
of logs and errors.
"""

import base64
from collections import defaultdict
from collections.abc import Iterable, Mapping

import attrs

from asoreconcile.azure.computed import (
    CONFIG_MAP_EXPRESSIONS,
    SECRET_EXPRESSIONS,
    Computed,
    ComputedError,
    expression_targets,
)
from asoreconcile.azure.exported import EXPORTED, note, noted_versions
from asoreconcile.azure.work import Work
from asoreconcile.errors import ConditionError
from asoreconcile.expressions.language import shared
from asoreconcile.expressions.process import EngineMissingError
from asoreconcile.kube.errors import AlreadyExistsError, InvalidError, NotFoundError
from asoreconcile.kube.resources import CONFIG_MAPS, SECRETS, ApiResource
from asoreconcile.middleware.points import EXPORT_CONFIG_MAPS, EXPORT_SECRETS
from asoreconcile.middleware.requests import Export, ExportConfigMaps, ExportSecrets
from asoreconcile.objects import (
    JsonObject,
    ObjectKey,
    annotations,
    dig,
    labels,
    owner_references,
    resource_version,
    spec,
    status,
    uid_of,
)

FIELD_MANAGER = "asoreconcile"


@attrs.frozen
class _Target:
    """One Secret or ConfigMap to write; values hidden from every repr."""

    name: str
    data: Mapping[str, str] = attrs.field(repr=False)
    labels: Mapping[str, str]
    annotations: Mapping[str, str]


def export(work: Work, current: JsonObject) -> None:
    """Write all that the resource exports.

    current: the object with the status of this pass. Secrets whose note still holds are
    left as they are, and Azure is not asked for them (`exported`). Blocking: a read per
    target, a write per target that differs. Raises ConditionError
    `FailedWritingAdditionalKubernetesObjects` (Error) for targets that are not ours or
    that two exports disagree about, and for expressions that fail; what extensions
    raise.
    """
    computed = checked_expressions(work, current)
    names = {name for kind, name in destinations(current) if kind == "Secret"}
    fetch = not _up_to_date(work, current, names)
    try:
        secrets = _secrets(work, current, computed) if fetch else []
        config_maps = _config_maps(work, current, computed)
    except (ComputedError, EngineMissingError) as error:
        raise _refused(str(error)) from error
    failures: list[ConditionError] = []
    written: dict[str, str] = {}
    for resource, exports in ((SECRETS, secrets), (CONFIG_MAPS, config_maps)):
        for target in _merged(resource, exports):
            try:
                version = _write(work, resource, target)
                if resource is SECRETS:
                    written[target.name] = version
            except ConditionError as error:
                failures.append(error)  # the other targets are still tried
            except InvalidError as error:
                failures.append(_refused(_invalid(resource, target, error)))
    if failures:
        raise _refused("; ".join(str(error) for error in failures))
    if written:
        work.session.annotate({EXPORTED: note(current, written)})


def _up_to_date(work: Work, current: JsonObject, names: set[str]) -> bool:
    """Whether all Secrets to write are as we left them, and made from the same."""
    noted = noted_versions(current, work.session.annotation(EXPORTED))
    if not names or noted.keys() != names:
        return False
    for name in sorted(names):
        try:
            present = work.operator.client.get(
                SECRETS, ObjectKey(work.key.namespace, name)
            )
        except NotFoundError:
            return False
        if resource_version(present) != noted[name] or not _owned(present, work.obj):
            return False
    return True


def checked_expressions(work: Work, obj: JsonObject) -> Computed:
    """The expressions of an object, after a look at each for mistakes.

    Costs nothing when there are none. Raises ConditionError as `export` does, naming
    every mistake; nothing is evaluated, and Azure is not asked.
    """
    computed = Computed(shared(), work.version, obj)
    try:
        problems = computed.problems()
    except EngineMissingError as error:
        raise _refused(str(error)) from error
    if problems:
        raise _refused(str(ComputedError(problems)))
    return computed


def _secrets(work: Work, current: JsonObject, computed: Computed) -> list[Export]:
    """What goes into Secrets. Rule: R9.6."""
    chain = work.operator.extensions.chain(EXPORT_SECRETS, work.kind.group_kind)
    found = chain(
        ExportSecrets(ctx=work.context, obj=current, extra=computed.secret_names())
    )
    return [*found.secrets, *computed.secrets(found.raw)]


def _config_maps(work: Work, current: JsonObject, computed: Computed) -> list[Export]:
    """What goes into ConfigMaps. Rule: R9.6."""
    chain = work.operator.extensions.chain(EXPORT_CONFIG_MAPS, work.kind.group_kind)
    return [
        *catalogued_config_maps(current, work.version.exports.config_map_paths),
        *chain(ExportConfigMaps(ctx=work.context, obj=current)),
        *computed.config_maps(),
    ]


def catalogued_config_maps(obj: JsonObject, paths: Mapping[str, str]) -> list[Export]:
    """The ConfigMap keys that `operatorSpec.configMaps` asks for. Pure.

    paths: export name -> dotted path in the status. A value that Azure does not report
    is left out; the consumer waits for it.
    """
    wanted = dig(spec(obj), "operatorSpec.configMaps") or {}
    found = []
    for name, destination in sorted(wanted.items()):
        if not destination or name not in paths:
            continue
        value = dig(status(obj), paths[name])
        if value is None:
            continue
        found.append(
            Export(
                name=destination["name"],
                key=destination["key"],
                value=value if isinstance(value, str) else _scalar(value),
                labels=destination.get("labels") or {},
                annotations=destination.get("annotations") or {},
            )
        )
    return found


def destinations(obj: JsonObject) -> set[tuple[str, str]]:
    """(kind, name) of each Secret and ConfigMap that the spec has us write. Pure."""
    found = set()
    for kind, field, expressions in (
        ("Secret", "secrets", SECRET_EXPRESSIONS),
        ("ConfigMap", "configMaps", CONFIG_MAP_EXPRESSIONS),
    ):
        found |= {(kind, name) for name in expression_targets(obj, expressions)}
        wanted = dig(spec(obj), f"operatorSpec.{field}")
        if isinstance(wanted, dict):
            found |= {
                (kind, str(d["name"])) for d in wanted.values() if d and d.get("name")
            }
    return found


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _merged(resource: ApiResource, exports: Iterable[Export]) -> list[_Target]:
    """One target per object name. Raises ConditionError on a collision."""
    by_name: dict[str, list[Export]] = defaultdict(list)
    for one in exports:
        by_name[one.name].append(one)
    targets = []
    for name, group in sorted(by_name.items()):
        data: dict[str, str] = {}
        for one in group:
            if one.key in data:
                raise _refused(
                    f"two exports write key {one.key!r} of {resource.kind} {name!r}: "
                    "give them different keys"
                )
            data[one.key] = one.value
        targets.append(
            _Target(
                name=name,
                data=data,
                labels=_agreed(resource, name, [one.labels for one in group]),
                annotations=_agreed(resource, name, [o.annotations for o in group]),
            )
        )
    return targets


def _agreed(
    resource: ApiResource, name: str, several: list[Mapping[str, str]]
) -> dict[str, str]:
    merged: dict[str, str] = {}
    for one in several:
        for key, value in one.items():
            if merged.setdefault(key, value) != value:
                raise _refused(
                    f"two exports give {resource.kind} {name!r} different values of "
                    f"{key!r}: make them agree"
                )
    return merged


def _write(work: Work, resource: ApiResource, target: _Target) -> str:
    """Write one target if it differs; its resource version afterwards."""
    client = work.operator.client
    key = ObjectKey(work.key.namespace, target.name)
    wanted = _manifest(work, resource, target)
    try:
        present = client.get(resource, key)
    except NotFoundError:
        try:
            return resource_version(
                client.create(resource, wanted, field_manager=FIELD_MANAGER)
            )
        except AlreadyExistsError:
            # Somebody was faster; whose it is must be looked at first.
            present = client.get(resource, key)
    if not _owned(present, work.obj):
        raise _refused(
            f"{resource.kind} {target.name!r} exists and is not owned by this "
            "resource: delete it, or choose another name"
        )
    if _holds(present, wanted):
        return resource_version(present)
    wanted["metadata"]["uid"] = uid_of(present)
    answer = client.patch(
        resource,
        key,
        wanted,
        kind="apply",
        field_manager=FIELD_MANAGER,
        force=True,
    )
    return resource_version(answer)


def _manifest(work: Work, resource: ApiResource, target: _Target) -> JsonObject:
    data = dict(target.data)
    if resource is SECRETS:
        data = {k: base64.b64encode(v.encode()).decode() for k, v in data.items()}
    meta: JsonObject = {
        "name": target.name,
        "namespace": work.key.namespace,
        "ownerReferences": [
            {
                "apiVersion": work.version.gvk.api_version,
                "kind": work.version.gvk.kind,
                "name": work.key.name,
                "uid": uid_of(work.obj),
            }
        ],
    }
    if target.labels:
        meta["labels"] = dict(target.labels)
    if target.annotations:
        meta["annotations"] = dict(target.annotations)
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": meta,
        "data": data,
    }


def _owned(target: JsonObject, owner: JsonObject) -> bool:
    uid = uid_of(owner)
    return any(r.get("uid") == uid for r in owner_references(target))


def _holds(present: JsonObject, wanted: JsonObject) -> bool:
    """Whether the object already says all that we would write, and no key more."""
    return (
        (present.get("data") or {}) == wanted["data"]
        and labels(wanted).items() <= labels(present).items()
        and annotations(wanted).items() <= annotations(present).items()
    )


def _invalid(resource: ApiResource, target: _Target, error: InvalidError) -> str:
    """What the API server refuses; its own words quote values, so only where."""
    fields = {str(cause.get("field")) for cause in error.details.get("causes") or ()}
    where = f" at {', '.join(sorted(fields))}" if fields else ""
    return f"the API server refuses {resource.kind} {target.name!r}{where}: mend it"


def _refused(message: str) -> ConditionError:
    return ConditionError(
        message,
        reason="FailedWritingAdditionalKubernetesObjects",
        severity="Error",
    )
