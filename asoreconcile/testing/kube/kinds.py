"""The resources the server has: built in, and one for each served CRD version."""

from collections.abc import Iterator

import attrs

from asoreconcile.objects import JsonObject, spec
from asoreconcile.testing.kube.crds import is_established
from asoreconcile.testing.kube.storage import Storage, Table


@attrs.frozen
class Resource:
    """A kind at one version, as the REST API has it.

    schema: the CRD's OpenAPI schema, None for built-in kinds. columns: its printer
    columns. has_status: whether `/status` is a subresource. fields: dotted paths that
    field selectors may name, besides names. scale: the paths of `/scale`.
    stored_version: at which objects are kept, "" for this one.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    has_status: bool = False
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    schema: JsonObject | None = attrs.field(default=None, repr=False, eq=False)
    columns: tuple[JsonObject, ...] = attrs.field(default=(), repr=False, eq=False)
    fields: frozenset[str] = attrs.field(default=frozenset(), repr=False, eq=False)
    scale: JsonObject | None = attrs.field(default=None, repr=False, eq=False)
    stored_version: str = ""

    @property
    def table(self) -> Table:
        return Table(self.group, self.plural)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def stored_api_version(self) -> str:
        version = self.stored_version or self.version
        return f"{self.group}/{version}" if self.group else version

    @property
    def has_generation(self) -> bool:
        """Whether changes are counted: where there is a desired state to change."""
        return self.is_custom or self.group in ("apiextensions.k8s.io", "apps")

    @property
    def subresources(self) -> tuple[str, ...]:
        found = ("status",) if self.has_status else ()
        return (*found, "scale") if self.scale else found

    @property
    def is_custom(self) -> bool:
        return self.schema is not None


_EVENT_FIELDS = frozenset(
    (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    )
)
CRDS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
    has_status=True,
    singular="customresourcedefinition",
    short_names=("crd", "crds"),
)
NAMESPACES = Resource(
    "",
    "v1",
    "namespaces",
    "Namespace",
    namespaced=False,
    has_status=True,
    singular="namespace",
    short_names=("ns",),
    fields=frozenset({"name", "status.phase"}),
)
SECRETS = Resource(
    "", "v1", "secrets", "Secret", singular="secret", fields=frozenset({"type"})
)
BUILT_IN = (
    NAMESPACES,
    SECRETS,
    Resource(
        "", "v1", "configmaps", "ConfigMap", singular="configmap", short_names=("cm",)
    ),
    Resource(
        "",
        "v1",
        "events",
        "Event",
        singular="event",
        short_names=("ev",),
        fields=_EVENT_FIELDS,
    ),
    Resource(
        "",
        "v1",
        "serviceaccounts",
        "ServiceAccount",
        singular="serviceaccount",
        short_names=("sa",),
    ),
    Resource("coordination.k8s.io", "v1", "leases", "Lease", singular="lease"),
    CRDS,
)


class Kinds:
    """What can be asked for now. Follows the stored CRDs."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._at = -1
        self._known: dict[tuple[str, str, str], Resource] = {}

    def all(self) -> list[Resource]:
        return list(self._now().values())

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._now().get((group, version, plural))

    def _now(self) -> dict[tuple[str, str, str], Resource]:
        with self._storage.lock:
            if self._at != (at := self._storage.last_change(CRDS.table)):
                custom = [
                    resource
                    for _, crd in self._storage.items(CRDS.table)
                    if is_established(crd)
                    for resource in _served(crd)
                ]
                self._known = {
                    (r.group, r.version, r.plural): r for r in (*BUILT_IN, *custom)
                }
                self._at = at
            return self._known


def _served(crd: JsonObject) -> Iterator[Resource]:
    content = spec(crd)
    names = content["names"]
    stored = next(v["name"] for v in content["versions"] if v.get("storage"))
    for version in content["versions"]:
        if not version.get("served"):
            continue
        yield Resource(
            group=content["group"],
            version=version["name"],
            plural=names["plural"],
            kind=names["kind"],
            namespaced=content.get("scope") == "Namespaced",
            has_status="status" in (version.get("subresources") or {}),
            singular=names.get("singular") or names["kind"].lower(),
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            schema=(version.get("schema") or {}).get("openAPIV3Schema") or {},
            columns=tuple(version.get("additionalPrinterColumns") or ()),
            fields=frozenset(
                str(field["jsonPath"]).removeprefix(".")
                for field in version.get("selectableFields") or ()
            ),
            scale=(version.get("subresources") or {}).get("scale"),
            stored_version=stored,
        )
