"""Watches of all kinds that a page shows, begun as the kinds appear."""

from collections.abc import Callable, Iterator, Mapping

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.cmd.ui.object_rows import row_key
from asoreconcile.azure.cmd.ui.objects_index import ObjectsIndex
from asoreconcile.azure.controllers.kind_registry import resource_of
from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import GroupKind, JsonObject, ObjectKey
from asoreconcile.cache.events import Deleted, Event, Updated
from asoreconcile.cache.informer import Informer
from asoreconcile.cache.informers import Informers
from asoreconcile.cache.scope import CacheOptions
from asoreconcile.kube.client import KubeClient

_STOP_SECONDS = 5.0
_NAMED = 3


class KindWatch:
    """An informer of each kind, which keeps the index. Safe from any thread."""

    def __init__(
        self, client: KubeClient, index: ObjectsIndex, *, namespace: str, clock: Clock
    ) -> None:
        """namespace: the only one that is watched; "" watches all."""
        options = CacheOptions(namespaces=[namespace] if namespace else None)
        self._informers = Informers(client, options, clock=clock)
        self._index = index
        self._kinds: dict[GroupKind, tuple[KindVersion, Informer]] = {}

    def watch(self, versions: Mapping[GroupKind, KindVersion]) -> None:
        """Begin to watch the kinds that are not watched yet. Does not block."""
        for group_kind, version in versions.items():
            if group_kind in self._kinds:
                continue
            informer = self._informers.of(resource_of(version))
            informer.add_handler(self._handler(version))
            self._kinds = {**self._kinds, group_kind: (version, informer)}
        self._informers.start()

    def get(
        self, group_kind: GroupKind, key: ObjectKey
    ) -> tuple[KindVersion, JsonObject] | None:
        """Return an object and the version that it is in, or None."""
        if group_kind not in self._kinds:
            return None
        version, informer = self._kinds[group_kind]
        found = informer.get(key)
        return None if found is None else (version, found)

    def objects(self, namespace: str) -> list[JsonObject]:
        """Return the objects of a namespace, of all kinds."""
        return [
            obj
            for _, informer in self._kinds.values()
            for obj in informer.list(namespace)
        ]

    def problems(self) -> Iterator[str]:
        """Yield a sentence for each reason why objects are not shown, with the kinds
        that it is about.
        """
        kinds: dict[str, list[str]] = {}
        for group_kind, (_, informer) in self._kinds.items():
            if informer.last_error:
                reason = _without_kind(informer.last_error, informer)
                kinds.setdefault(reason, []).append(group_kind.kind)
        for reason, names in kinds.items():
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            listed = ", ".join(sorted(names)[:_NAMED])
            yield f"Objects of {listed}{more} are not shown or may be old: {reason}."

    def stop(self) -> None:
        """End all watches."""
        self._informers.stop(_STOP_SECONDS)

    def _handler(self, version: KindVersion) -> Callable[[Event], None]:
        def changed(event: Event) -> None:
            if isinstance(event, Deleted):
                self._index.remove(row_key(version.group_kind, event.key))
                return
            entry = event.new if isinstance(event, Updated) else event.entry
            self._index.put(version, entry.deep_copy())

        return changed


def _without_kind(error: str, informer: Informer) -> str:
    """Return the text of an error without the kind, so that equal errors are one."""
    resource = informer.resource
    qualified = f"{resource.plural}.{resource.group}"
    return (
        error.replace(qualified, "KIND")
        .replace(resource.plural, "KIND")
        .replace(f'"{resource.group}"', "its group")
        .rstrip(".")
    )
