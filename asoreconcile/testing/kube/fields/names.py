"""The rules for metadata: names, labels, annotations, finalizers, owners. Pure.

Every check yields causes in the API server's wording, for one Invalid answer.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from asoreconcile.base.objects import JsonObject, metadata
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.testing.kube.fields import owners
from asoreconcile.testing.kube.wire.status import bad_request

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_PART = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or "
    "'-', and must start and end with an alphanumeric character (e.g. 'my-name',  or "
    f"'123-abc', regex used for validation is '{_LABEL}')"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
    "characters, '-' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_PART_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "
    f"regex used for validation is '{_PART}')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', "
    "'_' or '.', and must start and end with an alphanumeric character (e.g. "
    "'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'({_PART})?')"
)
_LONGEST_NAME, _LONGEST_PART, _ANNOTATION_BYTES = 253, 63, 256 << 10
_KNOWN = {
    "annotations": dict,
    "creationTimestamp": str,
    "deletionGracePeriodSeconds": int,
    "deletionTimestamp": str,
    "finalizers": list,
    "generateName": str,
    "generation": int,
    "labels": dict,
    "managedFields": list,
    "name": str,
    "namespace": str,
    "ownerReferences": list,
    "resourceVersion": str,
    "selfLink": str,
    "uid": str,
}
_GO_NAMES = {dict: "object", list: "array", str: "string", bool: "bool"}
_STANDARD_FINALIZERS = {"kubernetes", "orphan", "foregroundDeletion"}


def take_in(
    obj: JsonObject, resource_kind: str, version: str, *, built_in: bool
) -> list[str]:
    """Remove unknown fields from metadata; return the removed names.

    Raises StatusError 400 if metadata has a form that cannot be read.
    """
    meta = obj.setdefault("metadata", {})
    if meta is None:
        meta = obj["metadata"] = {}
    if not isinstance(meta, dict):
        raise _unreadable(resource_kind, version, meta, f"{resource_kind}.metadata")
    unknown = [name for name in meta if name not in _KNOWN]
    for name in unknown:
        del meta[name]
    for name in [name for name, value in meta.items() if value is None]:
        del meta[name]
    if why := owners.unreadable(meta.get("ownerReferences", []), in_metadata=built_in):
        raise _unread(resource_kind, version, why)
    for name, value in meta.items():
        if not isinstance(value, _KNOWN[name]) or isinstance(value, bool):
            raise _unreadable(resource_kind, version, value, f"ObjectMeta.{name}")
    for name in ("labels", "annotations"):
        for value in (meta.get(name) or {}).values():
            if not isinstance(value, str):
                raise _unreadable(resource_kind, version, value, f"ObjectMeta.{name}")
    for value in meta.get("finalizers") or ():
        if not isinstance(value, str):
            raise _unreadable(resource_kind, version, value, "ObjectMeta.finalizers")
    for value in meta.get("managedFields", ()):
        if not isinstance(value, dict):
            raise _unreadable(resource_kind, version, value, "ObjectMeta")
    return [f"metadata.{name}" for name in unknown]


def _unreadable(kind: str, version: str, value: Any, field: str) -> Exception:
    shown = _GO_NAMES.get(type(value), "number")
    why = f"json: cannot unmarshal {shown} into Go struct field {field}"
    return _unread(kind, version, why)


def _unread(kind: str, version: str, why: str) -> Exception:
    return bad_request(
        f'{kind} in version "{version}" cannot be handled as a {kind}: {why}'
    )


Naming = Literal["label", "subdomain", "path"]


def causes(obj: JsonObject, *, name_is: Naming = "subdomain") -> Iterator[Cause]:
    """Yield all mistakes in an object's metadata.

    name_is: the form of the name: a DNS label, a DNS subdomain, a part of a path.
    """
    meta = metadata(obj)
    name = str(meta.get("name") or "")
    if not name:
        why = "Required value: name or generateName is required"
        yield Cause("metadata.name", "FieldValueRequired", why)
    elif why := _name_problem(name, name_is):
        yield _invalid("metadata.name", name, why)
    for key, value in (meta.get("labels") or {}).items():
        for why in key_problems(key):
            yield _invalid("metadata.labels", key, why)
        if len(value) > _LONGEST_PART:
            why = f"must be no more than {_LONGEST_PART} characters"
            yield _invalid("metadata.labels", value, why)
        elif not re.fullmatch(f"({_PART})?", value):
            yield _invalid("metadata.labels", value, _VALUE_TEXT)
    yield from _annotation_causes(meta.get("annotations") or {})
    yield from _finalizer_causes(meta.get("finalizers") or [])
    yield from owners.causes(meta.get("ownerReferences") or [])


def _name_problem(name: str, name_is: Naming) -> str:
    if name_is == "path":
        if name in (".", ".."):
            return f"may not be '{name}'"
        found = next((c for c in "/%" if c in name), "")
        return f"may not contain '{found}'" if found else ""
    label_name = name_is == "label"
    longest = _LONGEST_PART if label_name else _LONGEST_NAME
    if len(name) > longest:
        return f"must be no more than {longest} characters"
    if re.fullmatch(_LABEL if label_name else _SUBDOMAIN, name):
        return ""
    return _LABEL_TEXT if label_name else _SUBDOMAIN_TEXT


def key_problems(key: str) -> Iterator[str]:
    """Yield the reasons why a text cannot be the key of a label or an annotation."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        yield (
            f"a qualified name {_PART_TEXT} with an optional DNS subdomain prefix and "
            "'/' (e.g. 'example.com/MyName')"
        )
        return
    if slash and not prefix:
        yield "prefix part must be non-empty"
    elif prefix and not re.fullmatch(_SUBDOMAIN, prefix):
        yield f"prefix part {_SUBDOMAIN_TEXT}"
    if not name:
        yield "name part must be non-empty"
    elif len(name) > _LONGEST_PART:
        yield f"name part must be no more than {_LONGEST_PART} characters"
    if not re.fullmatch(_PART, name):
        yield f"name part {_PART_TEXT}"


def _annotation_causes(found: Mapping[str, str]) -> Iterator[Cause]:
    for key in found:
        for why in key_problems(key.lower()):
            yield _invalid("metadata.annotations", key, why)
    if sum(len(k.encode()) + len(v.encode()) for k, v in found.items()) > (
        _ANNOTATION_BYTES
    ):
        why = f"Too long: may not be more than {_ANNOTATION_BYTES} bytes"
        yield Cause("metadata.annotations", "FieldValueTooLong", why)


def _finalizer_causes(found: list[str]) -> Iterator[Cause]:
    for name in found:
        for why in key_problems(name):
            yield _invalid("metadata.finalizers", name, why)
    if {"orphan", "foregroundDeletion"} <= set(found):
        shown = ", ".join(f'"{name}"' for name in found)
        why = (
            f"Invalid value: []string{{{shown}}}: finalizer orphan and "
            "foregroundDeletion cannot be both set"
        )
        yield Cause("metadata.finalizers", "FieldValueInvalid", why)


def unqualified(obj: JsonObject) -> Iterator[Cause]:
    """Yield the finalizers that built-in kinds do not accept: names without
    a domain.
    """
    for index, name in enumerate(metadata(obj).get("finalizers") or ()):
        if "/" not in name and name not in _STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            yield _invalid(f"metadata.finalizers[{index}]", name, why)


def warnings(obj: JsonObject) -> Iterator[str]:
    """Yield warnings about finalizers that other programs may use, too."""
    for name in metadata(obj).get("finalizers") or ():
        if "/" in name or name in _STANDARD_FINALIZERS:
            continue
        path = " including a path (/)" if "." in name else ""
        yield (
            f'metadata.finalizers: "{name}": prefer a domain-qualified finalizer name'
            f"{path} to avoid accidental conflicts with other finalizer writers"
        )


def _invalid(field: str, value: str, why: str) -> Cause:
    return Cause(field, "FieldValueInvalid", f'Invalid value: "{value}": {why}')
