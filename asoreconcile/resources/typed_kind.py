"""A class and the kind that `@resource` made it: what clients and informers need.

What reads, writes and describes objects is loaded with the first that is used: a
program that stays with dicts does not pay for it.
"""

from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import attrs

from asoreconcile.kube.resources import ApiResource
from asoreconcile.objects import JsonObject, copy_json

if TYPE_CHECKING:
    from asoreconcile.resources.codec import Codec
    from asoreconcile.resources.declaration import CrdOptions
    from asoreconcile.resources.metadata import ObjectMeta

C = TypeVar("C")

ATTRIBUTE = "__resource__"
"""Where a class keeps it."""


class HasMetadata(Protocol):
    """What every typed object is."""

    @property
    def metadata(self) -> "ObjectMeta":
        """Its name, labels, owners and so on."""


@attrs.frozen
class TypedKind(Generic[C]):
    """A class and the kind it stands for. Safe from any thread."""

    cls: type[C]
    resource: ApiResource
    options: "CrdOptions"

    def decode(self, document: JsonObject) -> C:
        """An object of the class. document: as the server has it; it is the object's
        from here on. Raises ObjectDecodeError, which names the object and the field.
        """
        from asoreconcile.resources.codec import ObjectDecodeError

        stated = document.pop("apiVersion", None), document.pop("kind", None)
        mine = self.resource.api_version, self.resource.kind
        for said, own in zip(stated, mine, strict=True):
            if said not in (None, own):
                raise ObjectDecodeError(f"{self.cls.__name__}: is {own}, not {said}")
        try:
            return self._codec.decode(document)
        except ObjectDecodeError as error:
            meta = document.get("metadata")
            named = meta if isinstance(meta, dict) else {}
            key = f"{named.get('namespace', '')}/{named.get('name', '')}".strip("/")
            raise ObjectDecodeError(f"{key}: {error}" if key else str(error)) from None

    def encode(self, instance: C) -> JsonObject:
        """The object as the server has it, a dict of its own."""
        return {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            **self._codec.encode(instance),
        }

    @property
    def _codec(self) -> "Codec[C]":
        from asoreconcile.resources.codec import codec_of

        return codec_of(self.cls)

    @property
    def has_status(self) -> bool:
        """Whether the class has a status, which is a subresource then."""
        from asoreconcile.resources.class_fields import fields_of

        return any(one.json_name == "status" for one in fields_of(self.cls))


def kind_of(cls: type[C]) -> TypedKind[C]:
    """What a class was declared as. Raises ResourceError for one that was not."""
    found = vars(cls).get(ATTRIBUTE)
    if not isinstance(found, TypedKind):
        from asoreconcile.resources.class_fields import ResourceError

        raise ResourceError(
            f"{cls.__name__} is no resource: decorate it with @resource(...)"
        )
    return found


def resource_of(cls: type) -> ApiResource:
    """Where the API server keeps objects of a class."""
    return kind_of(cls).resource


def from_dict(cls: type[C], document: JsonObject) -> C:
    """An object of a class from what the server has; `document` is left as it is.

    Raises ObjectDecodeError, which names the object and the field.
    """
    return kind_of(cls).decode(copy_json(document))


def to_dict(obj: Any) -> JsonObject:
    """A typed object as the server has it: for functions that take dicts, such as
    `set_owner` and `recorder.event`.
    """
    return kind_of(type(obj)).encode(obj)
