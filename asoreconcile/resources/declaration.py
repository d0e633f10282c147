"""`@resource`: a class becomes a kind of Kubernetes.

    @resource("example.com/v1", plural="websites")
    @attrs.define
    class Website:
        metadata: ObjectMeta
        spec: WebsiteSpec
        status: WebsiteStatus = attrs.field(factory=WebsiteStatus)

The class itself is unchanged; `typed_kind.kind_of` returns its declaration.
"""

import contextlib
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from asoreconcile.base.errors import check_is, check_list
from asoreconcile.base.objects import KIND_ATTRIBUTE
from asoreconcile.kube.resources import ApiResource
from asoreconcile.resources.annotations import (
    CrdOptions,
    PrinterColumn,
    Rule,
    ScalePaths,
)
from asoreconcile.resources.class_fields import ResourceError, fields_of, is_field_class
from asoreconcile.resources.codec import codec_of
from asoreconcile.resources.kept_fields import NOTHING_KEPT, keep, kept_of
from asoreconcile.resources.metadata import ObjectMeta
from asoreconcile.resources.schema import object_schema
from asoreconcile.resources.typed_kind import TypedKind

_API_VERSION = re.compile(
    r"(?:[a-z0-9][-a-z0-9]*(?:(?<!-)\.[a-z0-9][-a-z0-9]*)*(?<!-)/)?v[a-z0-9]+"
)
_KIND = re.compile(r"[A-Za-z]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?")
_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")

C = TypeVar("C")


def resource(
    api_version: str,
    *,
    plural: str = "",
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
    """Declare a class of attrs, dataclasses or pydantic as a Kubernetes kind.

    The class needs a field `metadata: ObjectMeta`; `spec`, `status` and other fields
    are such classes too. Names in JSON are camelCase. A field with a default is
    optional; the default goes into the CRD. A class with `status` gets the subresource.

    api_version: `example.com/v1`. kind: default the class's name. short_names,
    categories: names for kubectl. columns: columns of `kubectl get`. scale: adds the
    subresource.
    rules: CEL rules for the whole object. selectable: fields for field selectors,
    `.spec.host`.
    storage: True for the stored one of several versions. deprecated: a warning for
    users of the version.

    Raises ResourceError if the class cannot be a kind; it names the field and the rule.
    """
    given: object = api_version
    if isinstance(given, type):
        raise ResourceError(
            f'@resource has no arguments: write @resource("example.com/v1", '
            f'plural="{given.__name__.lower()}s") above {given.__name__}'
        )
    if not _API_VERSION.fullmatch(api_version):
        raise ResourceError(f"{api_version!r} is no apiVersion such as example.com/v1")
    if not _LABEL.fullmatch(plural):
        raise ResourceError(
            f'{plural!r} is no plural: give one in lower case, as plural="websites"'
        )
    if kind and not _KIND.fullmatch(kind):
        raise ResourceError(f"{kind!r:.80} is no kind: give one word, as Website")
    try:
        for name, lists in (
            ("short_names", short_names),
            ("categories", categories),
            ("columns", columns),
            ("rules", rules),
            ("selectable", selectable),
        ):
            check_list(name, lists)
        for column in columns:
            check_is("columns", column, PrinterColumn)
        for rule in rules:
            check_is("rules", rule, Rule)
        if scale is not None:
            check_is("scale", scale, ScalePaths)
        check_is("deprecated", deprecated, str)
    except TypeError as error:
        raise ResourceError(str(error)) from None
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
        before = vars(cls).get(KIND_ATTRIBUTE)
        setattr(cls, KIND_ATTRIBUTE, TypedKind(cls, api, options))
        try:
            # A class defined further down in its module is resolved on use.
            with contextlib.suppress(NameError):
                _check(cls)
        except BaseException:
            # A refused class is not a resource: a caller may go on.
            if before is None:
                delattr(cls, KIND_ATTRIBUTE)
            else:
                setattr(cls, KIND_ATTRIBUTE, before)
            raise
        return cls

    return declare


def evolve(instance: C, /, **changes: Any) -> C:
    """Return a copy with changed values, like `attrs.evolve`, for all supported
    classes.

    Keeps fields that the class does not define, as `copy`, `deepcopy` and `pickle` do;
    other ways to copy lose them, and `replace` refuses such a copy.
    changes: new values by constructor argument name.
    """
    given = {
        one.argument: getattr(instance, one.attribute)
        for one in fields_of(type(instance))
    }
    made = type(instance)(**(given | changes))
    kept = kept_of(instance)
    if kept is not NOTHING_KEPT:
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
    object_schema(cls)
