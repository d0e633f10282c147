"""`@resource`: a class becomes a kind of Kubernetes.

@resource("example.com/v1", plural="websites")
@attrs.define
class Website:
metadata: ObjectMeta
spec: WebsiteSpec
status: WebsiteStatus = attrs.field(factory=WebsiteStatus)
"""

import contextlib
import re
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import attrs

from asoreconcile.kube.resources import ApiResource
from asoreconcile.objects import JsonObject, copy_json
from asoreconcile.resources.annotations import PrinterColumn, Rule, ScalePaths
from asoreconcile.resources.class_fields import (
    ResourceError,
    fields_of,
    is_field_class,
)
from asoreconcile.resources.codec import Codec, ObjectDecodeError, codec_of
from asoreconcile.resources.kept_fields import keep, kept_of
from asoreconcile.resources.metadata import ObjectMeta

_ATTRIBUTE = "__resource__"
_API_VERSION = re.compile(r"(?:([a-z0-9]([-a-z0-9]*[a-z0-9])?\.?)+/)?v[a-z0-9]+")
_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


class HasMetadata(Protocol):
    """What every typed object is."""

    @property
    def metadata(self) -> ObjectMeta:
        """Its name, labels, owners and so on."""


C = TypeVar("C")
T = TypeVar("T", bound=HasMetadata)


@attrs.frozen(kw_only=True)
class CrdOptions:
    """What a CRD says beside the schema (`resource`)."""

    singular: str = ""
    short_names: Sequence[str] = ()
    categories: Sequence[str] = ()
    columns: Sequence[PrinterColumn] = ()
    scale: ScalePaths | None = None
    rules: Sequence[Rule] = ()
    selectable: Sequence[str] = ()
    storage: bool = False
    served: bool = True
    deprecated: str = ""


@attrs.frozen
class TypedKind(Generic[C]):
    """A class and the kind it stands for. Safe from any thread."""

    cls: type[C]
    resource: ApiResource
    options: CrdOptions

    def decode(self, document: JsonObject) -> C:
        """An object of the class. document: as the server has it; it is the object's
        from here on. Raises ObjectDecodeError, which names the object and the field.
        """
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
    def _codec(self) -> Codec[C]:
        return codec_of(self.cls)

    @property
    def has_status(self) -> bool:
        """Whether the class has a status, which is a subresource then."""
        return any(one.json_name == "status" for one in fields_of(self.cls))


def resource(
    api_version: str,
    *,
    plural: str,
    kind: str = "",
    namespaced: bool = True,
    singular: str = "",
    short_names: Sequence[str] = (),
    categories: Sequence[str] = (),
    columns: Sequence[PrinterColumn] = (),
    scale: ScalePaths | None = None,
    rules: Sequence[Rule] = (),
    selectable: Sequence[str] = (),
    storage: bool = False,
    served: bool = True,
    deprecated: str = "",
) -> Callable[[type[C]], type[C]]:
    """Make a class of attrs, dataclasses or pydantic a kind of Kubernetes.

    The class has a field `metadata: ObjectMeta`; `spec`, `status` and what else there
    is are classes of fields. Names in JSON are camelCase. A field with a default may be
    left out; the default goes into the CRD. A class with `status` has the subresource.

    api_version: `example.com/v1`. kind: the class's name. short_names, categories: of
    kubectl. columns: of `kubectl get`. scale: has the subresource. rules: (CEL) about
    the whole object. selectable: fields for field selectors, `.spec.host`.
    storage: of several versions the one that is stored. deprecated: a warning for who
    still uses the version.

    Raises ResourceError for a class that cannot be one: names the field and the rule.
    """
    if not _API_VERSION.fullmatch(api_version):
        raise ResourceError(f"{api_version!r} is no apiVersion such as example.com/v1")
    if not _LABEL.fullmatch(plural):
        raise ResourceError(f"{plural!r} is no plural such as websites: lower case")
    group, _, version = api_version.rpartition("/")
    options = CrdOptions(
        singular=singular,
        short_names=short_names,
        categories=categories,
        columns=columns,
        scale=scale,
        rules=rules,
        selectable=selectable,
        storage=storage,
        served=served,
        deprecated=deprecated,
    )

    def declare(cls: type[C]) -> type[C]:
        if not is_field_class(cls):
            raise ResourceError(
                f"{cls.__name__} has no fields yet: put @attrs.define or @dataclass "
                "below @resource"
            )
        api = ApiResource(group, version, plural, kind or cls.__name__, namespaced)
        setattr(cls, _ATTRIBUTE, TypedKind(cls, api, options))
        # A class further down in its module is looked at when it is used.
        with contextlib.suppress(NameError):
            _check(cls)
        return cls

    return declare


def kind_of(cls: type[C]) -> TypedKind[C]:
    """What a class was declared as. Raises ResourceError for one that was not."""
    found = vars(cls).get(_ATTRIBUTE)
    if not isinstance(found, TypedKind):
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


def evolve(instance: C, /, **changes: Any) -> C:
    """A copy with other values, as `attrs.evolve`, of any class of fields.

    Keeps the fields that the class does not name, which a copy by other means has not.
    changes: by the names of the arguments that make one.
    """
    given = {
        one.argument: getattr(instance, one.attribute)
        for one in fields_of(type(instance))
    }
    made = type(instance)(**(given | changes))
    kept = kept_of(instance)
    if kept.unknown or kept.stated or kept.absent:
        keep(made, kept)
    return made


def _check(cls: type) -> None:
    fields = {one.json_name: one for one in fields_of(cls)}
    if "metadata" not in fields or fields["metadata"].type is not ObjectMeta:
        raise ResourceError(f"{cls.__name__}: has to have a field metadata: ObjectMeta")
    for name in ("apiVersion", "kind"):
        if name in fields:
            raise ResourceError(
                f"{cls.__name__}.{fields[name].attribute}: {name} is @resource's to say"
            )
    codec_of(cls)
