"""The kinds of resources that an import looks for below a resource. Pure."""

from collections import defaultdict
from collections.abc import Callable, Mapping

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.ids import RESOURCES, ArmId
from asoreconcile.azure.catalogue.kinds import Catalogue, Kind, KindVersion
from asoreconcile.azure.catalogue.suggestions import hint
from asoreconcile.azure.reconcile.planning.resource_import.tasks import (
    ListTask,
    ResourceTask,
    Task,
)
from asoreconcile.base.objects import GroupKind

RESOURCE_GROUPS = f"{RESOURCES}/resourceGroups".lower()
# Extension resources that exist below some types only; to ask all others for them costs
# a request each, and ARM answers 400 or 404.
_HOSTS: Mapping[str, frozenset[str]] = {
    "microsoft.kubernetesconfiguration": frozenset(
        {
            "microsoft.azurestackhci/clusters",
            "microsoft.containerservice/managedclusters",
            "microsoft.hybridcontainerservice/provisionedclusters",
            "microsoft.kubernetes/connectedclusters",
        }
    ),
    # Below a provider's location, which is no resource.
    "microsoft.quota": frozenset(),
}


class ChildTypes:
    """ARM types that objects can stand for, each at the version to import it as.

    versions: of kinds that are not imported at their storage version. wanted: whether
    a kind is to be imported at all.
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
        """Return the version to import a type as; None for one that no kind
        stands for.
        """
        return self._by_type.get(type_.lower())

    def in_group(self, type_: str) -> KindVersion | None:
        """As `of`, for what a group's list shows; None also for what nobody wants, and
        for nested types, which come with their parents.
        """
        version = self.of(type_)
        if version is None or type_.lower() in self._unwanted:
            return None
        return version if len(version.types) == 1 else None

    def nearest(self, type_: str) -> str:
        """`; did you mean X?`, or nothing."""
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
    hosts = _HOSTS.get(extension.provider.lower())
    return hosts is None or type_ in hosts
