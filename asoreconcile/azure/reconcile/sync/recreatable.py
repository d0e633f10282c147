"""Decides whether a resource may be deleted in order to be made again.

Blocking: lists the children of the resource. Used before the deletion, and by
`asoctl plan`. Rule: OW-6.
"""

from collections.abc import Callable, Iterator
from itertools import islice

from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.azure.catalogue.type_facts import holds_data
from asoreconcile.azure.middleware.declared import names_at
from asoreconcile.azure.reconcile.sync.resource_reads import ListReader, listed_ids
from asoreconcile.base.objects import JsonObject
from asoreconcile.base.printable import listed

_MOST = 30
UNDECLARED = "no object of this cluster declares it"


def why_not_recreated(
    version: KindVersion,
    arm_id: str,
    body: JsonObject,
    *,
    catalogue: Catalogue,
    read: ListReader,
    why_lost: Callable[[str], str],
) -> str:
    """Return why a resource must not be deleted to be made again, or "".

    body: the body of its PUT. why_lost: function that returns why no object makes the
    resource with an id again, as a clause about the resource, or "". Raises the
    exceptions of `read`, except for a refusal.
    """
    if holds_data(version.arm_type):
        return "a deletion of this type destroys what cannot be made again"
    children = _Children(catalogue, read, why_lost)
    try:
        foreign = [*islice(children.foreign(version.arm_type, arm_id, body), _MOST)]
    except ArmError as error:
        if error.is_transient:
            raise
        return f"its children cannot be listed ({error.status} {error.code})"
    if foreign:
        return f"it would be lost with it: {listed(foreign)}"
    return ""


class _Children:
    def __init__(
        self, catalogue: Catalogue, read: ListReader, why_lost: Callable[[str], str]
    ) -> None:
        self._catalogue, self._read, self._why_lost = catalogue, read, why_lost

    def foreign(self, arm_type: str, arm_id: str, body: JsonObject) -> Iterator[str]:
        """Yield the resources below this one that no object would make again, or that
        hold data, each with the reason.

        body: body of the parent, which may declare children itself.
        """
        above = f"{arm_type.lower()}/"
        for kind in self._catalogue.kinds():
            version = kind.version()
            below = version.arm_type.lower().removeprefix(above)
            is_child = version.is_arm and version.arm_type.lower() != below
            if not is_child or "/" in below:
                continue
            path = f"{arm_id}/{version.arm_type.rpartition('/')[2]}"
            if version.fixed_name is not None:
                # Azure makes it with its parent.
                inner = f"{path}/{version.fixed_name}"
                yield from self.foreign(version.arm_type, inner, {})
                continue
            inside = {
                name.lower() for name in names_at(body, f"properties.{_leaf(path)}")
            }
            for id_ in listed_ids(self._read, path, version.api_version):
                if _leaf(id_).lower() in inside:
                    continue
                if holds_data(version.arm_type):
                    yield f"{id_} (it holds data)"
                elif why := self._why_lost(id_):
                    yield f"{id_} ({why})"
                else:
                    yield from self.foreign(version.arm_type, id_, {})


def _leaf(path: str) -> str:
    return path.rpartition("/")[2]
