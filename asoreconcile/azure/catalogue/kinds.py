"""The catalogue: all kinds, and everything that is known about each.

A `Catalogue` reads folders of catalogue files (`files`): the index at once, a group
when one of its versions is requested, spec schemas when one is expanded. Returned
values are immutable. Everything here may be used from any thread.
"""

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import attrs
import orjson

from asoreconcile.azure.catalogue.files import KindFolder
from asoreconcile.azure.catalogue.shapes import Shape, Shapes
from asoreconcile.azure.catalogue.suggestions import hint
from asoreconcile.azure.catalogue.tables import Table, Tables
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import GroupKind, GroupVersionKind, JsonObject
from asoreconcile.base.version import __version__, release_order


class LazyJson(Mapping[str, Any]):
    """A mapping that decodes a member each time it is requested.

    A caller that needs a member often must keep it. Immutable; safe from any thread.
    """

    __slots__ = ("_texts",)

    def __init__(self, members: Mapping[str, Any]) -> None:
        # An exact copy, because the bytes that `dumps` returns occupy more memory.
        self._texts = {
            name: bytes(memoryview(orjson.dumps(value)))
            for name, value in members.items()
        }

    def __getitem__(self, name: str) -> Any:
        return orjson.loads(self._texts[name])

    def __contains__(self, name: object) -> bool:
        return name in self._texts

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


ResourceScope = Literal["ResourceGroup", "Extension", "Tenant", "Location", ""]
_VERSION = re.compile(r"v(?:1api)?(\d*)(\w*)")


class NotInCatalogueError(AsoreconcileError):
    """The group or kind does not exist; the message names the nearest."""


class UnknownVersionError(AsoreconcileError):
    """The kind has no such version; the message lists its versions."""


@attrs.frozen
class Exports:
    """The values that a kind can write to Secrets and ConfigMaps.

    secrets, config_maps: the keys of `operatorSpec.secrets` and `.configMaps`.
    config_map_paths: by ConfigMap key, the dotted path in the status that its value is
    read from; a key without a path needs an extension.
    """

    secrets: tuple[str, ...] = ()
    config_maps: tuple[str, ...] = ()
    config_map_paths: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen
class Kind:
    """One kind with all its versions.

    versions: oldest first.
    storage: the version that a new installation stores: the newest one that is
    generally available, but of a version that a release adds, from the next release on.
    scope: scope of its versions, "" for a kind without ARM.
    """

    group_kind: GroupKind
    plural: str
    storage: str
    scope: ResourceScope
    versions: tuple[str, ...]
    categories: tuple[str, ...]
    _lookup: "Callable[[GroupVersionKind], KindVersion]" = attrs.field(
        repr=False, eq=False
    )

    @property
    def group(self) -> str:
        """The API group: `network.azure.com`."""
        return self.group_kind.group

    @property
    def is_arm(self) -> bool:
        """True if objects of the kind represent ARM resources; four kinds do not."""
        return self.scope != ""

    def version(self, version: str = "") -> "KindVersion":
        """Return one version, by default the storage version. Works as
        `Catalogue.version`.
        """
        return self._lookup(self.gvk(version))

    def gvk(self, version: str = "") -> GroupVersionKind:
        """Return group, version and kind; by default at the storage version."""
        group, kind = self.group_kind.group, self.group_kind.kind
        return GroupVersionKind(group, version or self.storage, kind)

    def __str__(self) -> str:
        return f"{self.group_kind.group}/{self.group_kind.kind}"


class _GroupFile:
    """The file of one group, and its spec shapes once they are needed."""

    def __init__(self, folder: KindFolder, group: str) -> None:
        content = folder.group(group)
        self.heads: Mapping[str, JsonObject] = LazyJson(content["kinds"])
        self.tables = Tables(LazyJson(content["tables"]))
        self.status = Shapes(LazyJson(content["status"]))
        self._folder = folder
        self._group = group
        self._spec: Shapes | None = None
        self._lock = threading.Lock()

    @property
    def spec(self) -> Shapes:
        with self._lock:
            if self._spec is None:
                self._spec = Shapes(LazyJson(self._folder.schemas(self._group)))
            return self._spec

    def forget_shapes(self) -> None:
        with self._lock:
            self._spec = None
        self.status.forget()
        self.tables.forget()


@attrs.frozen(eq=False)
class KindVersion:
    """One kind at one version that users write.

    arm_type: `Microsoft.Network/virtualNetworks/subnets`, as ARM spells it.
    api_version: the ARM api-version, `2024-06-01`.
    scope: the place of the resource in ARM.
    owner: the kind that `spec.owner` names; None if any kind may own it (scope
    Extension) or there is no owner.
    operations: those of Get, Head, Put and Delete that ARM supports.
    fixed_name: the only name that Azure allows, or None.
    status_shape: the shape of `status`; its names refer to `status_shapes`.
    kept_as: the stored form that the cluster keeps objects in (`storage_codec`); "" if
    the cluster keeps this version itself.
    """

    gvk: GroupVersionKind
    plural: str
    arm_type: str
    api_version: str
    scope: ResourceScope
    owner: GroupKind | None
    operations: frozenset[str]
    fixed_name: str | None
    exports: Exports
    _table: str
    _spec: Shape
    status_shape: Shape
    _file: _GroupFile = attrs.field(repr=False)
    kept_as: str = ""

    @cached_property
    def group_kind(self) -> GroupKind:
        """The kind without its version."""
        return self.gvk.group_kind

    @property
    def is_arm(self) -> bool:
        """False for the few kinds that do not represent ARM resources, such as database
        users.
        """
        return self.scope != ""

    @property
    def decides_existence(self) -> bool:
        """True if an annotation records the decision about a resource that was there.

        Users of databases have a record of their own.
        """
        return self.is_arm or self.owner is None

    @property
    def any_owner(self) -> bool:
        """True if `spec.owner` itself names group and kind."""
        return self.scope == "Extension" and self.owner is None

    @property
    def provider(self) -> str:
        """The provider of the ARM type, such as `Microsoft.Network`."""
        return self.arm_type.partition("/")[0]

    @property
    def types(self) -> tuple[str, ...]:
        """`("virtualNetworks", "subnets")`."""
        return tuple(self.arm_type.split("/")[1:])

    @property
    def table(self) -> Table:
        """The mapping table of the spec; for a kind without ARM, only the Secrets that
        it names.
        """
        return self._file.tables.table(self._table)

    @property
    def status_shapes(self) -> Shapes:
        """The shapes that this kind's status refers to, by name."""
        return self._file.status

    @property
    def spec_schema(self) -> JsonObject:
        """The OpenAPI schema of `spec`; shared, must not be changed."""
        return self._file.spec.schema(self._spec)

    @property
    def schema(self) -> JsonObject:
        """The OpenAPI schema of the whole object; shared, must not be changed."""
        return {
            "type": "object",
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": {"type": "object"},
                "spec": self.spec_schema,
                "status": self._file.status.schema(self.status_shape),
            },
        }


class Catalogue:
    """All kinds of one folder.

    The constructor reads only the index. It raises CatalogueFileError, and so do
    later calls if a group's file cannot be read.
    """

    def __init__(self, folder: KindFolder) -> None:
        self._folder = folder
        self._kinds = {
            group: {name: self._kind(group, name, raw) for name, raw in kinds.items()}
            for group, kinds in folder.index().items()
        }
        self._files: dict[str, _GroupFile] = {}
        self._versions: dict[GroupVersionKind, KindVersion] = {}
        self._lock = threading.RLock()

    def _kind(self, group: str, name: str, raw: JsonObject) -> Kind:
        return Kind(
            group_kind=GroupKind(group, name),
            plural=raw["plural"],
            storage=_storage(raw),
            scope=raw["scope"],
            versions=tuple(sorted(raw["versions"], key=version_order)),
            categories=tuple(
                raw.get("categories") or ("azure", group.partition(".")[0])
            ),
            lookup=self.version,
        )

    def groups(self) -> tuple[str, ...]:
        """Return all API groups, sorted."""
        return tuple(sorted(self._kinds))

    def kinds(self) -> tuple[Kind, ...]:
        """Return every kind, sorted by group and name. Does not read the
        groups' files.
        """
        return tuple(
            kinds[name]
            for _, kinds in sorted(self._kinds.items())
            for name in sorted(kinds)
        )

    def kind(self, group_kind: GroupKind) -> Kind:
        """Return a kind. Raises NotInCatalogueError, naming the nearest."""
        kinds = self._kinds.get(group_kind.group)
        if kinds is None:
            raise NotInCatalogueError(
                f"no group {group_kind.group!r} is known"
                + hint(group_kind.group, self._kinds)
            )
        kind = kinds.get(group_kind.kind)
        if kind is None:
            raise NotInCatalogueError(
                f"group {group_kind.group} has no kind {group_kind.kind!r}"
                + hint(group_kind.kind, kinds)
            )
        return kind

    def version(self, gvk: GroupVersionKind) -> KindVersion:
        """Return everything known about a kind at a version; reads its group's file
        once.

        Raises NotInCatalogueError or UnknownVersionError, naming the nearest.
        """
        known = self._versions.get(gvk)
        if known is not None:
            return known
        kind = self.kind(gvk.group_kind)
        if gvk.version not in kind.versions:
            near = hint(gvk.version, kind.versions)
            raise UnknownVersionError(
                f"{kind} has no version {gvk.version!r}{near}"
                f" (it has {', '.join(kind.versions)})"
            )
        # One thread reads a group's file, and the others wait instead of reading it
        # too.
        with self._lock:
            made = self._make(kind, gvk)
            return self._versions.setdefault(gvk, made)

    def forget_shapes(self) -> None:
        """Drop all expanded schemas and compiled tables; they are made again when
        requested.

        Call this after an operation that looked at all kinds: the schemas take 6 MB.
        Any thread.
        """
        with self._lock:
            files = list(self._files.values())
        for file in files:
            file.forget_shapes()

    def _make(self, kind: Kind, gvk: GroupVersionKind) -> KindVersion:
        file = self._file(gvk.group)
        versions = file.heads[gvk.kind]["versions"]
        head = versions[gvk.version]
        head = versions[head["sameAs"]] if "sameAs" in head else head
        return KindVersion(
            gvk=gvk,
            plural=kind.plural,
            arm_type=head.get("armType", ""),
            api_version=head.get("apiVersion", ""),
            scope=head.get("scope", ""),
            owner=_owner(head.get("owner")),
            operations=frozenset(head.get("operations", ())),
            fixed_name=head.get("fixedName"),
            exports=_exports(head.get("exports", {})),
            table=head.get("table", ""),
            spec=head["spec"],
            status_shape=head["status"],
            file=file,
        )

    def _file(self, group: str) -> _GroupFile:
        if group not in self._files:
            self._files[group] = _GroupFile(self._folder, group)
        return self._files[group]


def version_order(version: str) -> tuple[str, bool, bool, str]:
    """Return a sort key for API versions, oldest first.

    Versions are sorted by date; a preview comes before its release, and `v1api<date>`
    before `v<date>`.
    """
    match = _VERSION.fullmatch(version)
    date, suffix = match.groups() if match else ("", version)
    return (date, not suffix, not version.startswith("v1api"), suffix)


def _storage(raw: JsonObject) -> str:
    """Return the version to store.

    A release stores no version that it adds: objects would be unreadable to the release
    before, if that one came back.
    """
    later = raw.get("storageLater")
    if later and release_order(__version__) > release_order(later["after"]):
        return str(later["storage"])
    return str(raw["storage"])


def _owner(owner: str | None) -> GroupKind | None:
    if not owner or owner == "*":
        return None
    group, _, kind = owner.partition("/")
    return GroupKind(group, kind)


def _exports(raw: JsonObject) -> Exports:
    config_maps: Mapping[str, str | None] = raw.get("configMaps", {})
    return Exports(
        secrets=tuple(raw.get("secrets", ())),
        config_maps=tuple(config_maps),
        config_map_paths={k: path for k, path in config_maps.items() if path},
    )


def newest(versions: Sequence[str]) -> str:
    """Return the newest of some versions of a kind; a release wins over a later
    preview.
    """
    released = [v for v in versions if "preview" not in v]
    return max(released or versions, key=version_order)
