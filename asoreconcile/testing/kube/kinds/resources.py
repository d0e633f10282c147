"""The server's resources: the built-in ones, and one for each served CRD version."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Protocol

import attrs

from asoreconcile.base.objects import JsonObject, spec
from asoreconcile.testing.kube.crds.definitions import is_established
from asoreconcile.testing.kube.kinds import events, workloads
from asoreconcile.testing.kube.kinds.conversion import ConversionCall
from asoreconcile.testing.kube.kinds.events import EventForms
from asoreconcile.testing.kube.rules.validation import RuleNode, tree
from asoreconcile.testing.kube.store.storage import Storage, StorageTable
from asoreconcile.testing.kube.wire.hooks import Services


class Converts(Protocol):
    """A conversion of objects between versions."""

    def converted(
        self, objects: Sequence[JsonObject], api_version: str
    ) -> list[JsonObject]:
        """Return the objects at `api_version`, in order.

        May block. Raises StatusError if the conversion fails.
        """


@attrs.frozen
class RestResource:
    """A kind at one version, as the REST API serves it.

    schema: the CRD's OpenAPI schema; None for built-in kinds.
    columns: its printer columns.
    has_status: whether `/status` is a subresource.
    fields: dotted paths that field selectors may use besides names, with the path in
    the stored object. For `a|b`, the first one that is not empty counts.
    scale: the paths of `/scale`.
    conversion: between versions that differ in more than their name.
    stored_version: version in which objects are stored; "" for this one.
    stored_group: group in which objects are stored; None for this one.
    parts: further subresources, which only accept POST.
    first_status, finalizers: initial values of a new object.
    counted: whether a built-in kind has generations.
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
    fields: Mapping[str, str] = attrs.field(factory=dict, repr=False, eq=False)
    scale: JsonObject | None = attrs.field(default=None, repr=False, eq=False)
    conversion: Converts | None = attrs.field(default=None, repr=False, eq=False)
    stored_version: str = ""
    stored_group: str | None = None
    parts: tuple[str, ...] = ()
    first_status: JsonObject | None = attrs.field(default=None, repr=False, eq=False)
    finalizers: tuple[str, ...] = ()
    counted: bool = False

    @property
    def table(self) -> StorageTable:
        """Return the table of the objects, which all versions and both groups share."""
        return StorageTable(self._kept_in, self.plural)

    @property
    def api_version(self) -> str:
        """Return `group/version` of this resource, `v1` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def stored_api_version(self) -> str:
        """Return the `group/version` in which objects are stored."""
        version = self.stored_version or self.version
        return f"{self._kept_in}/{version}" if self._kept_in else version

    @property
    def _kept_in(self) -> str:
        return self.group if self.stored_group is None else self.stored_group

    @property
    def has_generation(self) -> bool:
        """Return whether the object has a generation. It needs a desired state for
        that.
        """
        return self.is_custom or self.counted or self.group in _COUNTED

    @property
    def subresources(self) -> tuple[str, ...]:
        """Return the subresources with which an object's path may end."""
        found = ("status",) if self.has_status else ()
        return (*self.parts, *found, *(("scale",) if self.scale else ()))

    @property
    def is_custom(self) -> bool:
        """Return whether the resource comes from a CRD. Only those have a schema."""
        return self.schema is not None

    @cached_property
    def rules(self) -> RuleNode | None:
        """Return the parts of the schema that have validation rules, or None."""
        return None if self.schema is None else tree(self.schema)


_COUNTED = (
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
)


def _by_path(paths: Iterable[str]) -> dict[str, str]:
    return {path: path for path in paths}


_EVENT_FIELDS = _by_path(
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
        "type",
    )
) | {"source": "source.component|reportingComponent"}
CRDS = RestResource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
    has_status=True,
    singular="customresourcedefinition",
    short_names=("crd", "crds"),
    categories=("api-extensions",),
)
NAMESPACES = RestResource(
    "",
    "v1",
    "namespaces",
    "Namespace",
    namespaced=False,
    has_status=True,
    singular="namespace",
    short_names=("ns",),
    fields={"name": "metadata.name", "status.phase": "status.phase"},
)


def _rbac(plural: str, kind: str, *, namespaced: bool = True) -> RestResource:
    return RestResource(
        "rbac.authorization.k8s.io",
        "v1",
        plural,
        kind,
        namespaced=namespaced,
        singular=kind.lower(),
    )


def _admission(plural: str, kind: str, *, has_status: bool = False) -> RestResource:
    return RestResource(
        "admissionregistration.k8s.io",
        "v1",
        plural,
        kind,
        namespaced=False,
        singular=kind.lower(),
        categories=("api-extensions",),
        has_status=has_status,
    )


def _owned_kinds() -> Iterator[RestResource]:
    """Yield the kinds that controllers own. They are checked and stored, but nothing
    runs.
    """
    for name, known in workloads.facts()["kinds"].items():
        api, _, kind = name.rpartition("/")
        group, _, version = api.rpartition("/")
        parts = known["parts"]
        yield RestResource(
            group,
            version,
            known["plural"],
            kind,
            namespaced=known["namespaced"],
            has_status="status" in parts,
            singular=known["singular"],
            short_names=tuple(known["shortNames"]),
            categories=tuple(known["categories"]),
            fields=_by_path(_SELECTABLE.get(kind, ())),
            scale=_SCALE if "scale" in parts else None,
            parts=tuple(one for one in parts if one not in ("status", "scale")),
            first_status=known["status"],
            finalizers=tuple(known.get("finalizers", ())),
            counted=known["generation"],
        )


_SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".spec.selector",
}
_SELECTABLE = {
    "Pod": (
        *("spec.nodeName", "spec.restartPolicy", "spec.schedulerName"),
        *("spec.serviceAccountName", "status.phase", "status.podIP"),
    ),
    "Node": ("spec.unschedulable",),
    "Job": ("status.successful",),
    "ReplicaSet": ("status.replicas",),
    "Service": ("spec.clusterIP", "spec.type"),
}


SECRETS = RestResource(
    "", "v1", "secrets", "Secret", singular="secret", fields=_by_path(["type"])
)
BUILT_IN = (
    NAMESPACES,
    SECRETS,
    RestResource(
        "", "v1", "configmaps", "ConfigMap", singular="configmap", short_names=("cm",)
    ),
    RestResource(
        "",
        "v1",
        "events",
        "Event",
        singular="event",
        short_names=("ev",),
        fields=_EVENT_FIELDS,
        conversion=EventForms(),
    ),
    RestResource(
        "",
        "v1",
        "serviceaccounts",
        "ServiceAccount",
        singular="serviceaccount",
        short_names=("sa",),
    ),
    RestResource(
        events.GROUP,
        "v1",
        "events",
        "Event",
        singular="event",
        short_names=("ev",),
        fields=events.selectable(_EVENT_FIELDS),
        conversion=EventForms(),
        stored_group="",
    ),
    _rbac("roles", "Role"),
    _rbac("rolebindings", "RoleBinding"),
    _rbac("clusterroles", "ClusterRole", namespaced=False),
    _rbac("clusterrolebindings", "ClusterRoleBinding", namespaced=False),
    _admission("mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
    _admission("validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
    _admission(
        "validatingadmissionpolicies", "ValidatingAdmissionPolicy", has_status=True
    ),
    _admission("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"),
    CRDS,
    RestResource("coordination.k8s.io", "v1", "leases", "Lease", singular="lease"),
    *_owned_kinds(),
)


class RestMapper:
    """The resources that clients can request now. It follows the stored CRDs."""

    def __init__(self, storage: Storage, services: Services) -> None:
        """Make the mapper.

        services: addresses of the CRDs' webhooks.
        """
        self._storage = storage
        self._services = services
        self._at = -1
        self._known: dict[tuple[str, str, str], RestResource] = {}
        # The resources of each CRD, by its uid and version. If one CRD changes, the
        # others stay.
        self._served: dict[tuple[str, str], list[RestResource]] = {}

    def all(self) -> list[RestResource]:
        """Return every resource at every served version, for the CRDs stored now."""
        return list(self._now().values())

    def versions(self, resource: RestResource) -> list[RestResource]:
        """Return a resource at all served versions."""
        return [r for r in self._now().values() if r.table == resource.table]

    def find(self, group: str, version: str, plural: str) -> RestResource | None:
        """Return the resource for three segments of a path, or None.

        group: "" is the core group.
        """
        return self._now().get((group, version, plural))

    @property
    def stamp(self) -> int:
        """Return a number that changes when the resources do."""
        return self._storage.last_change(CRDS.table)

    def _now(self) -> dict[tuple[str, str, str], RestResource]:
        with self._storage.lock:
            if self._at != (at := self._storage.last_change(CRDS.table)):
                before, self._served = self._served, {}
                for _, crd in self._storage.items(CRDS.table):
                    meta = crd["metadata"]
                    life = (str(meta["uid"]), str(meta["resourceVersion"]))
                    if life in before:
                        self._served[life] = before[life]
                    elif is_established(crd):
                        self._served[life] = list(_served(crd, self._services))
                custom = (r for served in self._served.values() for r in served)
                self._known = {
                    (r.group, r.version, r.plural): r for r in (*BUILT_IN, *custom)
                }
                self._at = at
            return self._known


def _served(crd: JsonObject, services: Services) -> Iterator[RestResource]:
    content = spec(crd)
    names = content["names"]
    stored = next(v["name"] for v in content["versions"] if v.get("storage"))
    stated = content.get("conversion") or {}
    conversion: Converts | None = None
    if stated.get("strategy") == "Webhook":
        conversion = ConversionCall(services, stated.get("webhook") or {})
    for version in content["versions"]:
        if not version.get("served"):
            continue
        yield RestResource(
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
            fields=_by_path(
                str(field["jsonPath"]).removeprefix(".")
                for field in version.get("selectableFields") or ()
            ),
            scale=(version.get("subresources") or {}).get("scale"),
            stored_version=stored,
            conversion=conversion,
        )
