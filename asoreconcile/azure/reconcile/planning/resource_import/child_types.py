"""The kinds of resources that an import looks for below a resource. Pure."""

from collections import defaultdict
from collections.abc import Callable, Mapping

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.ids import RESOURCES, ArmId
from asoreconcile.azure.catalogue.kinds import Catalogue, Kind, KindVersion
from asoreconcile.azure.catalogue.suggestions import hint
from asoreconcile.azure.catalogue.type_facts import facts_of
from asoreconcile.base.objects import GroupKind


@attrs.frozen
class ResourceTask:
    """A resource to read.

    expected: True if the resource was named, so that its absence is an error.
    """

    id: ArmId
    version: KindVersion
    expected: bool = False

    @property
    def owner_id(self) -> str:
        """Return the id of the owner, or "" for a resource without an owner."""
        if self.version.scope in ("Location", "Tenant") or self.id.parent is None:
            return ""
        return self.id.parent.text

    @property
    def key(self) -> str:
        """The id in lower case. Tasks with the same key are the same work (I2)."""
        return ids.key(self.id.text)

    @property
    def root_id(self) -> str:
        """The id with which another import would continue.

        It is the owner's id if the resource was not named by the user and may be
        absent.
        """
        is_guess = bool(self.version.fixed_name) and not self.expected
        return self.owner_id if is_guess and self.owner_id else self.id.text


@attrs.frozen
class ListTask:
    """A collection to list.

    path: the path of the collection, as ARM spells it. version: the kind and version of
    its elements; None for all resources of a resource group.
    """

    path: str
    version: KindVersion | None = None

    @property
    def key(self) -> str:
        """A key made of the path in lower case. It differs from the key of a task that
        reads a resource at this path.
        """
        return f"list {ids.key(self.path)}"

    @property
    def root_id(self) -> str:
        """Return the id of the resource that the list belongs to."""
        is_extension = self.version is not None and self.version.scope == "Extension"
        return self.path.rpartition("/providers/" if is_extension else "/")[0]

    def holds(self, arm_id: ArmId, version: KindVersion) -> bool:
        """Return whether an entry belongs to the collection and has the type of the
        list.

        Some do not: a list of role assignments also shows those of wider scopes.
        """
        if self.version is not None:
            return ids.key(arm_id.text).rpartition("/")[0] == ids.key(self.path)
        is_inside = ids.key(arm_id.text).startswith(f"{ids.key(self.root_id)}/")
        return is_inside and arm_id.type.lower() == version.arm_type.lower()


Task = ResourceTask | ListTask

RESOURCE_GROUPS = f"{RESOURCES}/resourceGroups".lower()


class ChildTypes:
    """The ARM types that can be imported, each with the kind and version of its
    manifest.

    versions: version by kind, for kinds that are not imported at their storage version.
    wanted: function that returns whether a kind is to be imported.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        versions: Mapping[GroupKind, str],
        wanted: Callable[[Kind], bool],
    ) -> None:
        """Raises NotInCatalogueError or UnknownVersionError if a version is unknown."""
        for group_kind, name in versions.items():
            catalogue.version(catalogue.kind(group_kind).gvk(name))
        self._by_type: dict[str, KindVersion] = {}
        self._unwanted: set[str] = set()
        self._nested: defaultdict[str, list[KindVersion]] = defaultdict(list)
        self._extensions: list[KindVersion] = []
        for kind in catalogue.kinds():
            if kind.is_arm:
                version = kind.version(versions.get(kind.group_kind, ""))
                self._add(version, wanted=wanted(kind))

    def _add(self, version: KindVersion, *, wanted: bool) -> None:
        type_ = version.arm_type.lower()
        self._by_type[type_] = version
        if not wanted:
            self._unwanted.add(type_)
        elif version.scope == "Extension":
            self._extensions.append(version)
        elif len(version.types) > 1:
            self._nested[type_.rpartition("/")[0]].append(version)

    def of(self, type_: str) -> KindVersion | None:
        """Return the kind and version for a type; None if the catalogue has no kind for
        it.
        """
        return self._by_type.get(type_.lower())

    def in_group(self, type_: str) -> KindVersion | None:
        """Return the kind and version for a type in the list of a resource group.

        None as for `of`, and also for unwanted kinds and for nested types, which are
        read with their parents.
        """
        version = self.of(type_)
        if version is None or type_.lower() in self._unwanted:
            return None
        return version if len(version.types) == 1 else None

    def nearest(self, type_: str) -> str:
        """Return a hint at the type with the most similar name, `; did you mean X?`, or
        "".
        """
        return hint(type_, [v.arm_type for v in self._by_type.values()])

    def below(self, parent: ArmId, version: KindVersion) -> list[Task]:
        """Return the tasks below a resource: nested types, then extensions of the
        resource.

        For a resource group, the resources in it are left out, because ARM lists them
        together.
        """
        tasks: list[Task] = []
        for child in self._nested[parent.type.lower()]:
            path = f"{parent.text}/{child.types[-1]}"
            if child.fixed_name:
                only = ids.parse(f"{path}/{child.fixed_name}")
                tasks.append(ResourceTask(only, child))
            else:
                tasks.append(ListTask(path, child))
        if version.scope != "Extension":
            tasks += [
                ListTask(f"{parent.text}/providers/{child.arm_type}", child)
                for child in self._extensions
                if _may_host(parent.type.lower(), child)
            ]
        return tasks


def _may_host(type_: str, extension: KindVersion) -> bool:
    """Return whether to ask for an extension below a type: each question costs a
    request, and ARM answers 400 or 404 for a type that cannot have one.
    """
    hosts = facts_of(extension.provider).hosts
    return hosts is None or type_ in hosts
