"""The form in which Azure shows a resource: state, children, version tag, casing of
ids.

A few types show children in their own body (`resources.EMBEDDED`).
"""

import re
import uuid
from collections.abc import Mapping

from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import JsonObject, copy_json
from asoreconcile.testing.arm.outputs import made_up
from asoreconcile.testing.arm.refusals import answer
from asoreconcile.testing.arm.resources import (
    EMBEDDED,
    SHOWN,
    ArmResource,
    Resources,
    collection_of,
)
from asoreconcile.testing.arm.style import Style
from asoreconcile.testing.arm.styles import Styles
from asoreconcile.testing.http import HttpResponse

_ETAGS = uuid.UUID("5d0a4a52-5a0b-4f8e-8f14-8c4b3c1b7a10")


class Views:
    """The answers that show resources. The caller holds the server's lock."""

    def __init__(self, resources: Resources, styles: Styles, clock: Clock) -> None:
        self._resources = resources
        self._styles = styles
        self._clock = clock

    def body(self, resource: ArmResource) -> JsonObject:
        """Return a copy of the body that a GET shows."""
        style = self._styles[resource.address.type]
        body: JsonObject = copy_json(resource.body)
        body["id"] = _shown_id(resource, style)
        state = resource.state
        if self._clock.monotonic() < resource.lingers_until:
            state = "Updating"  # Rule W16.
        type_ = resource.address.type
        collections = EMBEDDED.get(type_, ()) + SHOWN.get(type_, ())
        if state or collections:
            properties = body.setdefault("properties", {})
            if state:
                properties["provisioningState"] = state
            for path in collections:
                self._show_children(resource, properties, path)
        if style.etag_in_body:
            body["etag"] = self.etag(resource)
        return body

    def _show_children(
        self, resource: ArmResource, properties: JsonObject, path: str
    ) -> None:
        children = self._resources.children(resource.address, collection_of(path))
        *above, leaf = path.split(".")
        if above and not children:
            return  # Azure leaves out the empty object.
        for part in above:
            properties = properties.setdefault(part, {})
        properties[leaf] = [self.body(child) for child in children]

    def response(
        self,
        status: int,
        resource: ArmResource,
        headers: Mapping[str, str] | None = None,
        *,
        is_read: bool = False,
    ) -> HttpResponse:
        """Return the resource as an answer, with its ETag if it has one.

        is_read: whether this answers a GET. Some types send the header only then.
        """
        shown_by = self._styles[resource.address.type].etag_in_header
        is_shown = shown_by == "always" or (is_read and shown_by == "reads")
        etag = self.etag(resource) if is_shown else ""
        extra = {"ETag": etag} if etag else {}
        return answer(status, self.body(resource), {**extra, **(headers or {})})

    def etag(self, resource: ArmResource) -> str:
        """Return the tag of a resource's version; "" for types without ETags (H3).

        If a resource shows children in its own body, the tag also changes with them.
        """
        kind = self._styles[resource.address.type].etag
        if not kind:
            return ""
        versions = [f"{resource.address.key}#{resource.version}"]
        for path in EMBEDDED.get(resource.address.type, ()):
            children = self._resources.children(resource.address, collection_of(path))
            versions += [
                f"{c.address.life or c.address.key}#{c.version}" for c in children
            ]
        tag = uuid.uuid5(_ETAGS, " ".join(versions))
        quoted = {"weak": f'W/"{tag}"', "strong": f'"{tag}"', "bare": f"{tag}"}
        return quoted[kind]


def _shown_id(resource: ArmResource, style: Style) -> str:
    """Return the id in the form in which the provider returns it (I2, W22)."""
    address = resource.address
    if style.other_id:
        return style.other_id.format(
            scope=address.scope,
            subscription=address.subscription,
            group=address.group_name,
            name=address.name,
            made_up=made_up(address, "id"),
        )
    shown = address.id
    for part in style.casing:
        shown = re.sub(rf"(?i)(?<=/){re.escape(part)}(?=/)", part, shown)
    if style.shouts_subscription:
        shown = shown.replace(address.subscription, address.subscription.upper(), 1)
    return shown
