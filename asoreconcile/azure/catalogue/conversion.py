"""Convert a custom resource from one version of its kind to another: `convert`.

There are two sorts of versions. Users write the versions of the catalogue. Each of them
has a stored form, `<version>storage`, that users do not write. The stored form keeps
fields that its version does not know in property bags, and in `spec.originalVersion`
the version that the user wrote, because the request to Azure uses the tables and the
api-version of that version. A version of the catalogue has no fields for either: there
both are kept in an annotation, so that reading an object at one version and writing it
back loses nothing.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeGuard

import attrs

from asoreconcile.azure.catalogue.conversion_data import EMPTY, Tree, digest, tree_of
from asoreconcile.azure.catalogue.field_renames import field_renames
from asoreconcile.azure.catalogue.kinds import (
    Kind,
    KindVersion,
    UnknownVersionError,
    newest,
)
from asoreconcile.azure.catalogue.names import azure_name
from asoreconcile.azure.catalogue.projection import Projection
from asoreconcile.azure.catalogue.property_bag import ConversionDataError
from asoreconcile.base import jsontext
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import JsonObject, annotations, copy_json, gvk_of, key_of

CONVERSION_DATA = "asoreconcile/conversion-data"
ORIGINAL_VERSION = "originalVersion"
STORED_SUFFIX = "storage"
_VERSION = re.compile(r"v(1api)?\d*(preview)?")


class KindConversionError(AsoreconcileError):
    """An object cannot be converted; the message says why. The caller adds the object's
    name.
    """


@attrs.frozen
class VersionForm:
    """One version of a kind, either as users write it or in its stored form."""

    version: KindVersion
    stored: bool

    @property
    def name(self) -> str:
        """The version in an apiVersion: `v1api20230101`, with `storage` at the end if
        stored.
        """
        return self.version.gvk.version + (STORED_SUFFIX if self.stored else "")

    def schema(self, part: str) -> JsonObject:
        """Return the schema of `spec` or `status`, without property bags."""
        if part == "spec":
            return self.version.spec_schema
        return self.version.status_shapes.schema(self.version.status_shape)


@attrs.frozen
class _ConversionData:
    """Conversion data of an object: the author's version, and values that are not
    shown.
    """

    authored: str
    tree: Tree = EMPTY


def stored_name(kind: Kind) -> str:
    """Return the version that objects of a kind with several versions are stored in."""
    return kind.storage + STORED_SUFFIX


def form(kind: Kind, name: str) -> VersionForm:
    """Return a version by its name in an `apiVersion`. Raises UnknownVersionError."""
    plain = name.removesuffix(STORED_SUFFIX)
    if name not in kind.versions and plain in kind.versions:
        return VersionForm(kind.version(plain), stored=True)
    return VersionForm(kind.version(name), stored=False)


def convert(
    kind: Kind, obj: JsonObject, to: str, *, lenient: bool = False
) -> JsonObject:
    """Return the object at another version of its kind.

    obj: the object; reads apiVersion, metadata.annotations, spec and status. Everything
    else is copied.
    to: the bare name of the target version.
    lenient: if true, a property bag entry of the spec that cannot be read is carried
    along and its field is not shown, so that one bad object does not hide the others.
    The same is done with a value of another type than the field's, which an older
    release may have stored. A status is always treated so, because it is written again.

    Converting there and back gives the same object, through any versions. Pure: never
    changes obj, shares nothing with it. Raises KindConversionError.
    """
    if gvk_of(obj).version == to in kind.versions:
        same: JsonObject = copy_json(obj)
        return same
    return _converted_anew(kind, obj, to, lenient=lenient)


def _converted_anew(
    kind: Kind, obj: JsonObject, to: str, *, lenient: bool = False
) -> JsonObject:
    try:
        # A copy, because unchanged parts of a projection would be shared with the
        # caller.
        return _converted(kind, copy_json(obj), to, lenient=lenient)
    except (ConversionDataError, UnknownVersionError) as error:
        own = gvk_of(obj).version
        raise KindConversionError(f"cannot convert {own} to {to}: {error}") from error


def rewritten(kind: Kind, obj: JsonObject, to: str) -> tuple[JsonObject, list[str]]:
    """Return a manifest as its author would write it in another version of its kind.

    The function works as `convert`, but the new version becomes the author's version,
    and the Azure name is kept if the two versions would derive different ones. The
    second value lists the fields that the version does not know, such as
    `spec.subnets[0].field`: they are kept in the annotation, in case the manifest is
    converted again. A secret that the manifest holds in place of a Secret's key stays
    there: see `with_secrets`. Raises KindConversionError.
    """
    # Also to the manifest's own version: it may be written as older releases took it.
    made = _converted_anew(kind, obj, to)
    target = form(kind, to)
    if target.stored:
        return made, []
    _keep_name(kind, obj, made)
    tree = _left_out(made)
    return _annotated(made, target, to, tree), [*tree.paths()]


def _keep_name(kind: Kind, obj: JsonObject, made: JsonObject) -> None:
    source = form(kind, gvk_of(obj).version).version
    target = form(kind, gvk_of(made).version).version
    if target.fixed_name is not None:
        return  # such a version has no field for another
    name = azure_name(source, obj)
    # A name that is drawn is another one with each call: there is none to keep.
    drawn = name != azure_name(source, obj)
    if not name or drawn or name == azure_name(target, made):
        return
    if not key_of(obj).namespace:
        raise KindConversionError(
            f"{made['apiVersion']} would give it another Azure name: set"
            " metadata.namespace or spec.azureName"
        )
    others = {k: v for k, v in made["spec"].items() if k != "azureName"}
    made["spec"] = {"azureName": name, **others}


def authored_version(kind: Kind, obj: JsonObject) -> str:
    """Return the version in which the user wrote the spec; this release may not know
    it. Raises KindConversionError.

    A stored object without the name of a version counts as written in the version that
    it is stored in.
    """
    try:
        source = form(kind, gvk_of(obj).version)
        return _conversion_data(source, obj, obj.get("spec")).authored
    except (ConversionDataError, UnknownVersionError) as error:
        raise KindConversionError(str(error)) from error


def as_authored(kind: Kind, obj: JsonObject) -> JsonObject:
    """Return a stored object in the version in which the user wrote the spec.

    A spec of a version that this release does not know is returned in the newest known
    version. Raises KindConversionError if that would leave a field out.
    """
    authored = authored_version(kind, obj)
    if authored in kind.versions:
        return convert(kind, obj, authored)
    made = convert(kind, obj, newest(kind.versions))
    lost = [path for path in _left_out(made).paths() if path.startswith("spec.")]
    if lost:
        raise KindConversionError(
            f"it was written in {authored}, which this release does not know, and sets "
            f"{', '.join(lost)}: install the newer release again, or remove these "
            "fields"
        )
    return made


def _left_out(made: JsonObject) -> Tree:
    raw = jsontext.loads(annotations(made).get(CONVERSION_DATA) or "{}")
    return tree_of(raw.get("tree") or {})


def _converted(kind: Kind, obj: JsonObject, to: str, *, lenient: bool) -> JsonObject:
    source, target = form(kind, gvk_of(obj).version), form(kind, to)
    if source.stored and source == target:
        return obj
    spec = obj.get("spec")
    brought = _conversion_data(source, obj, spec)
    # The author's version was read from it above; no version of the catalogue has it.
    if source.stored and isinstance(spec, dict):
        spec = {k: v for k, v in spec.items() if k != ORIGINAL_VERSION}
    left: dict[str, Tree] = {}
    made = {**obj, "apiVersion": f"{kind.group}/{to}"}
    for part, value in (("spec", spec), ("status", obj.get("status"))):
        if isinstance(value, dict):
            beside = brought.tree.fields.get(part, EMPTY)
            conversion = _part_conversion(source, target, part, lenient=lenient)
            made[part], rest = conversion.projection.project(
                value, conversion.schema, conversion.own, beside
            )
            if rest:
                left[part] = rest
    return _annotated(made, target, brought.authored, Tree(fields=left))


@attrs.frozen
class _PartConversion:
    """A projection of the spec or the status from one form to another, with both
    schemas.
    """

    projection: Projection
    own: JsonObject
    schema: JsonObject


@lru_cache(maxsize=1024)
def _part_conversion(
    source: VersionForm, target: VersionForm, part: str, *, lenient: bool
) -> _PartConversion:
    # Kept, as a projection learns where two schemas are alike and is quick from then
    # on.
    renamed = field_renames(source.version, target.version) if part == "spec" else {}
    projection = Projection(
        renamed,
        from_stored=source.stored,
        to_stored=target.stored,
        lenient=lenient or part == "status",
    )
    return _PartConversion(projection, source.schema(part), target.schema(part))


def _conversion_data(
    source: VersionForm, obj: JsonObject, spec: Any
) -> _ConversionData:
    own = source.version.gvk.version
    if source.stored:
        stated = spec.get(ORIGINAL_VERSION) if isinstance(spec, dict) else None
        return _ConversionData(stated if _is_version(stated) else own)
    text = _annotations_of(obj).get(CONVERSION_DATA)
    if text is None:
        return _ConversionData(own)
    try:
        raw = jsontext.loads(text)
        authored, shown = raw.get("authored"), raw.get("shown")
        tree = tree_of(raw.get("tree") or {})
    except (AttributeError, ValueError) as error:
        raise ConversionDataError(
            f"annotation {CONVERSION_DATA} is unreadable: remove it"
        ) from error
    except ConversionDataError as error:
        raise ConversionDataError(
            f"annotation {CONVERSION_DATA}: {error}: remove it"
        ) from error
    if not _is_version(authored) or shown != digest(spec):
        # This is not the spec that was shown: an author has written it in this version.
        authored = own
    return _ConversionData(authored, tree)


def _is_version(name: Any) -> TypeGuard[str]:
    """Return whether it names a version, maybe of a newer release; not a retired one,
    such as `v1beta20200601`.
    """
    return isinstance(name, str) and _VERSION.fullmatch(name) is not None


def _annotated(
    made: JsonObject, target: VersionForm, authored: str, tree: Tree
) -> JsonObject:
    """Write the conversion data to the spec of a stored form, else to an annotation."""
    given = _annotations_of(made)
    meta = dict(made.get("metadata") or {})
    kept = {k: v for k, v in given.items() if k != CONVERSION_DATA}
    if target.stored:
        # An object without a spec, such as one that is only patched in its status,
        # stays so.
        if isinstance(made.get("spec"), dict):
            made["spec"] = {**made["spec"], ORIGINAL_VERSION: authored}
    else:
        carried: JsonObject = {}
        if authored != target.name:
            carried |= {"authored": authored, "shown": digest(made.get("spec"))}
        if tree:
            carried["tree"] = tree.to_json()
        if carried:
            kept[CONVERSION_DATA] = jsontext.dumps(carried, sort_keys=True).decode()
    # If there were no annotations, none are added: an empty map would be a change.
    if kept or CONVERSION_DATA in given:
        meta["annotations"] = kept
        if not kept:
            del meta["annotations"]
        made["metadata"] = meta
    return made


def _annotations_of(obj: JsonObject) -> Mapping[str, str]:
    meta = obj.get("metadata") or {}
    found = (meta.get("annotations") or {}) if isinstance(meta, dict) else None
    if not isinstance(found, dict):
        raise ConversionDataError("metadata, or its annotations, are no object")
    return found
