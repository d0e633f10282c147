"""The field managers of server-side apply, and the lists of their resources."""

from asoreconcile.base.objects import JsonObject, metadata
from asoreconcile.testing.kube.fields import schema
from asoreconcile.testing.kube.fields.apply import FieldManager
from asoreconcile.testing.kube.fields.builtinlists import ATOMIC, BY_KIND, keyed, known
from asoreconcile.testing.kube.fields.fieldsets import META, FieldPath, item_step
from asoreconcile.testing.kube.kinds import workloads
from asoreconcile.testing.kube.kinds.resources import CRDS, RestResource
from asoreconcile.testing.kube.wire.status import StatusError

_ALWAYS: frozenset[FieldPath] = frozenset({("f:spec",), ("f:status",)})
_CRD_ALWAYS = _ALWAYS | {("f:spec", "f:names"), ("f:status", "f:acceptedNames")}
_CRD_BEGIN: frozenset[FieldPath] = frozenset(
    {
        ("f:status", "f:conditions"),
        ("f:status", "f:storedVersions"),
        ("f:status", "f:acceptedNames", "f:kind"),
        ("f:status", "f:acceptedNames", "f:plural"),
    }
)
_FIXED: dict[str, frozenset[FieldPath]] = {
    "CustomResourceDefinition": _CRD_ALWAYS,
    "Event": _ALWAYS | {("f:source",), ("f:deprecatedSource",)},
    "Namespace": _ALWAYS | {("f:spec", "f:finalizers"), ("f:status", "f:phase")},
}
_EMPTY: frozenset[FieldPath] = frozenset(
    (f"f:{name}",)
    for name in (
        "eventTime",
        "firstTimestamp",
        "lastTimestamp",
        "reportingComponent",
        "reportingInstance",
        "deprecatedFirstTimestamp",
        "deprecatedLastTimestamp",
    )
)
_BUILT_IN = known(
    metadata=META,
    involvedObject=ATOMIC,
    regarding=ATOMIC,
    related=ATOMIC,
    roleRef=ATOMIC,
    status=known(conditions=keyed("type")),
)


def owner_of(
    resource: RestResource, *, manager: str, subresource: str = "", now: str
) -> FieldManager:
    """Return the field manager of a write to a resource at one version."""
    fixed = frozenset() if resource.is_custom else _FIXED.get(resource.kind, _ALWAYS)
    if workloads.kind_facts(resource.group, resource.kind) is not None:
        fixed |= workloads.always_there(resource.kind)
    if resource is CRDS and not subresource:
        fixed |= _CRD_BEGIN
    return FieldManager(
        manager=manager,
        api_version=resource.api_version,
        subresource=subresource,
        now=now,
        schema=_schema(resource),
        fixed=fixed,
        empty=frozenset() if resource.is_custom else _EMPTY,
    )


def _schema(resource: RestResource) -> JsonObject:
    if resource.schema is None:
        if workloads.kind_facts(resource.group, resource.kind) is not None:
            typed = workloads.schema_of_kind(resource.kind)
            return {**typed, "properties": {**typed["properties"], "metadata": META}}
        more = BY_KIND.get(resource.kind, {})
        return {**_BUILT_IN, "properties": {**_BUILT_IN["properties"], **more}}
    properties = resource.schema.get("properties") or {}
    return {**resource.schema, "properties": {**properties, "metadata": META}}


def check_typed(resource: RestResource, configuration: JsonObject) -> None:
    """Check that the body of a custom resource's apply fits its schema.

    Raises StatusError 500 (sic) for fields that the schema lacks, and for values and
    list items of a wrong type.
    """
    if resource.schema is None:
        return
    _, unknown = schema.admit(resource.schema, configuration)
    wrong = [f".{path}: field not declared in schema" for path in unknown]
    for field, part in schema.own_properties(resource.schema).items():
        if field in configuration:
            wrong += _wrong(part, configuration[field], f".{field}")
    if wrong:
        meta = metadata(configuration)
        name, namespace = meta.get("name"), meta.get("namespace") or ""
        raise StatusError(
            500,
            "",
            f"failed to create typed patch object ({namespace}/{name}; "
            f"{resource.api_version}, Kind={resource.kind}): {wrong[0]}",
        )


def _wrong(part: JsonObject, value: object, at: str) -> list[str]:
    """Return the values with a wrong type, and the list items without a unique key."""
    found: list[str] = []
    kinds = {"integer": "numeric (int or float)", "number": "numeric (int or float)"}
    kinds |= {"object": "map", "array": "list"}
    expected = str(part.get("type") or "")
    if value is not None and expected and not schema.is_a(value, expected):
        wanted = kinds.get(expected, expected)
        return [f"{at}: expected {wanted}, got {schema.kind_of(value)}"]
    if isinstance(value, dict):
        for name, inner in value.items():
            if isinstance(field := (part.get("properties") or {}).get(name), dict):
                found += _wrong(field, inner, f"{at}.{name}")
    elif isinstance(value, list):
        sort = part.get("x-kubernetes-list-type")
        if sort == "map":
            found += _keyless(part, value, at)
        steps = [item_step(item, part) for item in value] if sort else []
        if sort in ("set", "map") and len(set(steps)) != len(steps):
            found.append(f"{at}: duplicate entries for key")
        if isinstance(items := part.get("items"), dict):
            for index, item in enumerate(value):
                found += _wrong(items, item, f"{at}[{index}]")
    return found


def _keyless(part: JsonObject, items: list[object], at: str) -> list[str]:
    properties = (part.get("items") or {}).get("properties") or {}
    return [
        f"{at}: element {index}: associative list with keys has an element that omits "
        f'key field "{key}" (and doesn\'t have default value)'
        for index, item in enumerate(items)
        for key in part.get("x-kubernetes-list-map-keys") or ()
        if isinstance(item, dict)
        and key not in item
        and "default" not in properties.get(key, {})
    ]
