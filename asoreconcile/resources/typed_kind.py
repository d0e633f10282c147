"""A resource class and its kind, for clients and informers.

The codec and schema modules are loaded on first use, so a program that uses only dicts
does not load them.
"""

from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import attrs

from asoreconcile.base.objects import KIND_ATTRIBUTE, JsonObject, copy_json
from asoreconcile.kube.resources import ApiResource

if TYPE_CHECKING:
    from asoreconcile.resources.annotations import CrdOptions
    from asoreconcile.resources.codec import Codec
    from asoreconcile.resources.metadata import ObjectMeta

C = TypeVar("C")


class HasMetadata(Protocol):
    """The protocol of typed objects."""

    @property
    def metadata(self) -> "ObjectMeta":
        """Its name, labels, owners and so on."""


@attrs.frozen
class TypedKind(Generic[C]):
    """A class and its kind. Safe from any thread."""

    cls: type[C]
    resource: ApiResource
    options: "CrdOptions"

    def decode(self, document: JsonObject) -> C:
        """Decode an object of the class. document: object from the server; the caller
        must not use it afterwards. Raises ObjectDecodeError, which names the object and
        the field.
        """
        from asoreconcile.resources.codec import ObjectDecodeError
        from asoreconcile.resources.kept_fields import KeptFields, keep, kept_of

        stated = document.pop("apiVersion", None), document.pop("kind", None)
        mine = self.resource.api_version, self.resource.kind
        for said, own in zip(stated, mine, strict=True):
            if said not in (None, own):
                raise ObjectDecodeError(f"{self.cls.__name__}: is {own}, not {said}")
        try:
            made = self._codec.decode(document)
        except ObjectDecodeError as error:
            meta = document.get("metadata")
            named = meta if isinstance(meta, dict) else {}
            key = f"{named.get('namespace', '')}/{named.get('name', '')}".strip("/")
            raise ObjectDecodeError(f"{key}: {error}" if key else str(error)) from None
        kept = kept_of(made)
        keep(made, KeptFields(kept.unknown, kept.stated, kept.absent, document))
        return made

    def encode_whole(self, instance: C) -> JsonObject:
        """Encode an object that is to replace the server's.

        Raises ValueError if fields that the class does not define would be lost: for a
        copy that does not keep them (`kept_fields`), or with such a copy in it.
        """
        from asoreconcile.resources.kept_fields import kept_of
        from asoreconcile.resources.unknown_fields import lost_unknown

        made = self.encode(instance)
        before = kept_of(instance).document
        lost = ["all of them"] if before is None else []
        lost += lost_unknown(self.cls, before or {}, made)
        if lost:
            raise ValueError(
                f"{self.cls.__name__}: a replace would delete fields that the class "
                f"does not define ({', '.join(lost)}): attrs.evolve, "
                "dataclasses.replace and constructors do not keep them; use update, or "
                "change the object that was read or a copy by asoreconcile.evolve"
            )
        return made

    def encode(self, instance: C) -> JsonObject:
        """Encode the object as a new dict for the server.

        Raises EncodeError, which names the object, the class and the field.
        """
        from asoreconcile.base.json_problems import EncodeError

        try:
            made = self._codec.encode(instance)
        except EncodeError as error:
            meta = getattr(instance, "metadata", None)
            named = getattr(meta, "namespace", ""), getattr(meta, "name", "")
            key = "/".join(filter(None, map(str, named)))
            raise (error.within(key) if key else error) from None
        return {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            **made,
        }

    def take_over(self, instance: C, document: JsonObject) -> None:
        """Set metadata and status of an object to those of a changed dict of it.

        Raises TypeError for a class whose instances cannot be changed, or that has no
        status for a status in the dict.
        """
        if "status" in document and not self.has_status:
            raise TypeError(
                f"{self.cls.__name__} has no status: give the class a field `status`"
            )
        changed: Any = self._codec.decode(
            {k: v for k, v in document.items() if k not in ("apiVersion", "kind")}
        )
        parts = ("metadata", "status") if self.has_status else ("metadata",)
        try:
            for part in parts:
                setattr(instance, part, getattr(changed, part))
        except AttributeError as error:
            raise TypeError(
                f"a {self.cls.__name__} cannot be changed in place: change the result "
                "of to_dict, or make the class without frozen"
            ) from error

    @property
    def _codec(self) -> "Codec[C]":
        from asoreconcile.resources.codec import codec_of

        return codec_of(self.cls)

    @property
    def has_status(self) -> bool:
        """Return whether the class has a status, and so the subresource."""
        from asoreconcile.resources.class_fields import fields_of

        return any(one.json_name == "status" for one in fields_of(self.cls))


def kind_of(cls: type[C]) -> TypedKind[C]:
    """Return the kind of a class. Raises ResourceError if it was not declared with
    `@resource`.
    """
    given: object = cls
    found = vars(given).get(KIND_ATTRIBUTE) if isinstance(given, type) else None
    if not isinstance(found, TypedKind):
        from asoreconcile.resources.class_fields import ResourceError

        if not isinstance(given, type):
            raise ResourceError(
                f"{given!r:.80} is no class: give one of @resource(...), or a kind "
                "such as CONFIG_MAPS"
            )
        raise ResourceError(
            f"{cls.__name__} is no resource: decorate it with @resource(...)"
        )
    return found


def resource_of(cls: type) -> ApiResource:
    """Return the REST resource of a class's kind."""
    return kind_of(cls).resource


def from_dict(cls: type[C], document: JsonObject) -> C:
    """Decode an object of a class; `document` is not changed.

    Raises ObjectDecodeError, which names the object and the field.
    """
    return kind_of(cls).decode(copy_json(document))


def to_dict(obj: Any) -> JsonObject:
    """Encode a typed object as a dict, for functions that take dicts, such as
    `set_owner` and `recorder.event`.
    """
    return kind_of(type(obj)).encode(obj)
