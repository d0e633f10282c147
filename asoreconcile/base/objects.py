"""Kubernetes objects as plain JSON dicts: keys, kinds and pure accessors.

Accessors never raise on a malformed object and never copy: the result is the object's
own data and must not be changed.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import attrs
import orjson

from asoreconcile.base import jsontext

JsonObject = dict[str, Any]
_DIGITS = 4300


# Named tuples are hashed in C: an object's lifecycle makes a hundred of these.
class ObjectKey(NamedTuple):
    """Namespace and name; namespace is "" for cluster-scoped objects."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class GroupKind(NamedTuple):
    """`apps` and `Deployment`; the core group is ""."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


@lru_cache(maxsize=4096)
def _shared(group: str, kind: str) -> GroupKind:
    """A shared instance: the caches ask for it with each object."""
    return GroupKind(group, kind)


@attrs.frozen(order=True)
class GroupVersionKind:
    """A kind at one version."""

    group: str
    version: str
    kind: str

    @property
    def group_kind(self) -> GroupKind:
        """The kind without its version."""
        return _shared(self.group, self.kind)

    @property
    def api_version(self) -> str:
        """The text in a manifest: `group/version`, or `v1` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.api_version}/{self.kind}"


def copy_json(value: Any) -> Any:
    """An independent copy of any JSON value (4.8 us where deepcopy takes 35)."""
    try:
        return orjson.loads(orjson.dumps(value))
    except TypeError:  # nested deeper than that
        return jsontext.loads(jsontext.dumps(value))


def metadata(obj: JsonObject) -> JsonObject:
    """`metadata`, not a copy; a new {} if it is missing or not a map."""
    meta = obj.get("metadata")
    return meta if isinstance(meta, dict) else {}


def key_of(obj: JsonObject) -> ObjectKey:
    """Namespace and name; "" for a part that is missing or not a string."""
    meta = obj.get("metadata")
    if not isinstance(meta, dict):
        return ObjectKey("", "")
    namespace, name = meta.get("namespace"), meta.get("name")
    return ObjectKey(
        namespace if isinstance(namespace, str) else "",
        name if isinstance(name, str) else "",
    )


def gvk_of(obj: JsonObject) -> GroupVersionKind:
    """The group, version and kind of an object; missing parts are ""."""
    group, _, version = str(obj.get("apiVersion") or "").rpartition("/")
    return GroupVersionKind(group, version, str(obj.get("kind") or ""))


def uid_of(obj: JsonObject) -> str:
    """`metadata.uid`; "" before the server has given one."""
    uid = metadata(obj).get("uid")
    return uid if isinstance(uid, str) else ""


def resource_version(obj: JsonObject) -> str:
    """`metadata.resourceVersion`: opaque, only for equality checks; "" if missing."""
    version = metadata(obj).get("resourceVersion")
    return version if isinstance(version, str) else ""


def version_number(version: str) -> int:
    """A resource version as a number, comparable within its kind; 0 if it is not a
    number. Servers guarantee this order (KEP-5504).
    """
    # Python parses no number of more than 4,300 digits, and no server has one.
    return int(version) if version.isdecimal() and len(version) < _DIGITS else 0


def generation(obj: JsonObject) -> int:
    """`metadata.generation`, which counts changes of the spec; 0 for kinds
    without one.
    """
    return metadata(obj).get("generation") or 0


def is_deleting(obj: JsonObject) -> bool:
    """True once deletion was requested and finalizers hold the object."""
    return bool(metadata(obj).get("deletionTimestamp"))


def annotations(obj: JsonObject) -> Mapping[str, str]:
    """`metadata.annotations`, not a copy; empty if there are none."""
    # Does not call `metadata`: a reconcile reads it a hundred times.
    meta = obj.get("metadata")
    value = meta.get("annotations") if isinstance(meta, dict) else None
    return value if isinstance(value, dict) else {}


def labels(obj: JsonObject) -> Mapping[str, str]:
    """`metadata.labels`, not a copy; empty if there are none."""
    value = metadata(obj).get("labels")
    return value if isinstance(value, dict) else {}


def finalizers(obj: JsonObject) -> list[str]:
    """`metadata.finalizers`, not a copy; empty if there are none."""
    return metadata(obj).get("finalizers") or []


def owner_references(obj: JsonObject) -> list[JsonObject]:
    """`metadata.ownerReferences`, not a copy; empty if there are none."""
    return metadata(obj).get("ownerReferences") or []


def spec(obj: JsonObject) -> JsonObject:
    """`spec`, not a copy; a new {} if it is missing or not a map."""
    value = obj.get("spec")
    return value if isinstance(value, dict) else {}


def status(obj: JsonObject) -> JsonObject:
    """`status`, not a copy; a new {} if it is missing or not a map."""
    value = obj.get("status")
    return value if isinstance(value, dict) else {}


def dig(value: Any, path: str) -> Any:
    """The value at a dotted path (`status.provisioningState`), or None."""
    for part in path.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(part)
    return value
