"""What a list, a watch or a deletion of many is about: one description for all.

Clients take it, informers are made of it, and the query is written here. Pure.
"""

import attrs

from asoreconcile.kube.resources import ApiResource

JSON = "application/json"
_METADATA = "application/json;as={};g=meta.k8s.io;v=v1"


@attrs.frozen
class Selection:
    """Which objects of a kind, and how much of each. Rule: CA-2.

    namespace: None is all of them, or the one that a client is bound to. Selectors are
    applied by the server. metadata_only: objects without spec, status or data.
    """

    resource: ApiResource
    namespace: str | None = None
    label_selector: str = attrs.field(default="", kw_only=True)
    field_selector: str = attrs.field(default="", kw_only=True)
    metadata_only: bool = attrs.field(default=False, kw_only=True)

    @property
    def selectors(self) -> dict[str, str]:
        """As query parameters."""
        return {
            "labelSelector": self.label_selector,
            "fieldSelector": self.field_selector,
        }

    def accepts(self, *, listed: bool = False) -> str:
        """The `Accept` header for one object of it, or for a list."""
        if not self.metadata_only:
            return JSON
        form = "PartialObjectMetadataList" if listed else "PartialObjectMetadata"
        # Without a second choice after it: a server that cannot says 406, instead of
        # sending whole objects that memory was not planned for.
        return _METADATA.format(form)


def selection_of(what: ApiResource | Selection) -> Selection:
    """All there is of a kind, unless less was asked for."""
    return what if isinstance(what, Selection) else Selection(what)


@attrs.frozen
class ListOptions:
    """Where in a kind's history to list, and how far.

    resource_version: None is the most recent, "0" whatever the server has at hand, any
    other a state no older than that. limit: of a page. continue_token: the next page.
    """

    resource_version: str | None = None
    limit: int | None = None
    continue_token: str = ""

    @property
    def query(self) -> dict[str, str]:
        """The query parameters; empty values are left out by who builds the URL."""
        at_least = self.resource_version not in (None, "", "0")
        return {
            "resourceVersion": self.resource_version or "",
            # Without it, a limit would ask for exactly that version.
            "resourceVersionMatch": "NotOlderThan" if at_least else "",
            "limit": str(self.limit or ""),
            "continue": self.continue_token,
        }


NEWEST = ListOptions()
"""The whole list, as it is now."""
