"""What a reflector reads from, and what it is told to read."""

from collections.abc import Iterator
from typing import Protocol, TypedDict

import attrs

from asoreconcile.kube.resources import ApiResource
from asoreconcile.kube.watch import WatchStream
from asoreconcile.objects import JsonObject


class Listing(Protocol):
    """One page of a list, as it arrives (`kube.listing.Listing`).

    What it says of itself counts once it was iterated to its end.
    """

    @property
    def resource_version(self) -> str: ...

    @property
    def continue_token(self) -> str: ...

    def __iter__(self) -> Iterator[JsonObject]: ...

    def close(self) -> None: ...


class Source(Protocol):
    """Lists and watches (`kube.client.KubeClient`)."""

    def listing(
        self,
        resource: ApiResource,
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str | None = None,
        limit: int | None = None,
        continue_token: str = "",
        metadata_only: bool = False,
    ) -> Listing: ...

    def watch(
        self,
        resource: ApiResource,
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str = "",
        timeout_seconds: float,
        initial_events: bool = False,
        metadata_only: bool = False,
    ) -> WatchStream: ...


class Options(TypedDict):
    """A selection as a source's methods take it."""

    namespace: str | None
    label_selector: str
    field_selector: str
    metadata_only: bool


@attrs.frozen
class Selection:
    """Which objects of a kind, and how much of each. Rule: CA-2.

    namespace: None is the whole cluster. Selectors are applied by the server.
    metadata_only: objects without spec, status or data. others: where namespace is
    None, the namespaces that are not in it, but in selections beside it.
    """

    resource: ApiResource
    namespace: str | None = None
    label_selector: str = ""
    field_selector: str = ""
    metadata_only: bool = False
    others: frozenset[str] = frozenset()

    def covers(self, namespace: str) -> bool:
        """Whether objects of a namespace come with this selection."""
        if self.namespace is None:
            return namespace not in self.others
        return namespace == self.namespace

    @property
    def options(self) -> Options:
        return {
            "namespace": self.namespace,
            "label_selector": self.label_selector,
            "field_selector": self.field_selector,
            "metadata_only": self.metadata_only,
        }
