"""Selections of objects for lists, watches and collection deletes.

Clients and informers take a selection; its query parameters are built here. Pure.
"""

from typing import Any

import attrs

from asoreconcile.base.errors import check_is
from asoreconcile.kube.label_selector import SelectorError, label_test
from asoreconcile.kube.resources import ApiResource

JSON = "application/json"
_METADATA = "application/json;as={};g=meta.k8s.io;v=v1"


def check_selector(name: str, selector: object) -> None:
    """Check that a selector is a string. Raises TypeError unless it is a string; a
    mapping of labels is not accepted. Raises ValueError for a label selector that the
    API server cannot read. Pure.
    """
    if selector is not None and not isinstance(selector, str):
        said = f"{name} is {selector!r:.80}"
        raise TypeError(f"{said}: write it as a text, such as 'app=mine,tier!=test'")
    if selector and "label" in name:
        try:
            label_test(selector)
        except SelectorError as error:
            raise ValueError(f"{name} is {selector!r:.80}: {error}") from None


def selector_validator(_holder: object, field: Any, selector: object) -> None:
    """Validate a field of a class of attrs (`check_selector`)."""
    check_selector(field.name, selector)


def _check_resource(_selection: object, _field: Any, resource: Any) -> None:
    check_is("resource", resource, ApiResource)


@attrs.frozen
class Selection:
    """A selection of the objects of a kind, and of the parts of each. Rule: CA-2.

    namespace: None is all namespaces, or the one that a client is bound to. Selectors
    are strings, `app=mine`, and applied by the server; TypeError for other types.
    metadata_only: objects without spec, status or data.
    """

    resource: ApiResource = attrs.field(validator=_check_resource)
    namespace: str | None = None
    label_selector: str = attrs.field(
        default="", kw_only=True, validator=selector_validator
    )
    field_selector: str = attrs.field(
        default="", kw_only=True, validator=selector_validator
    )
    metadata_only: bool = attrs.field(default=False, kw_only=True)

    @property
    def selectors(self) -> dict[str, str]:
        """Return the query parameters."""
        return {
            "labelSelector": self.label_selector,
            "fieldSelector": self.field_selector,
        }

    def accepts(self, *, listed: bool = False) -> str:
        """Return the `Accept` header for one object of the selection, or for a list."""
        if not self.metadata_only:
            return JSON
        form = "PartialObjectMetadataList" if listed else "PartialObjectMetadata"
        # Without a fallback: a server without support responds with 406, instead of
        # sending whole objects that need more memory than planned.
        return _METADATA.format(form)


def selection_of(what: ApiResource | Selection) -> Selection:
    """Return all objects of a kind, unless it is already a selection."""
    return what if isinstance(what, Selection) else Selection(what)


@attrs.frozen
class ListOptions:
    """The resource version, page size and continue token of a list.

    resource_version: None for the most recent state, "0" for any state that the server
    has cached, any other version for a state not older than that. limit: page size.
    continue_token: token of the page to read.
    """

    resource_version: str | None = None
    limit: int | None = None
    continue_token: str = ""

    @property
    def query(self) -> dict[str, str]:
        """Return the query parameters; the URL builder drops empty values."""
        at_least = self.resource_version not in (None, "", "0")
        return {
            "resourceVersion": self.resource_version or "",
            # Without it, a limit would request exactly that version.
            "resourceVersionMatch": "NotOlderThan" if at_least else "",
            "limit": str(self.limit or ""),
            "continue": self.continue_token,
        }


NEWEST = ListOptions()
"""The whole list in its most recent state."""
