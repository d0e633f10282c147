"""Names of the objects that imported resources become: the same in every run. Pure."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable

from asoreconcile.azure.arm import ids
from asoreconcile.base.objects import GroupKind

# Kubernetes' own limit of a name.
_MAX_LENGTH = 253
_SUFFIX_LENGTH = 6
_REFUSED = re.compile(r"[^a-z0-9]+")


def object_name(azure_name: str) -> str:
    """A name that Kubernetes takes: lower case, and `-` for what it does not take."""
    name = _REFUSED.sub("-", azure_name.lower()).strip("-")
    # Of a name in another script nothing may be left.
    return name[:_MAX_LENGTH].rstrip("-") or "resource"


def object_names(resources: Iterable[tuple[GroupKind, str]]) -> dict[str, str]:
    """Return the object's name of each ARM id, under the id's key (`ids.key`).

    Resources of one kind that would share a name all get a suffix made of their ids, so
    that a name does not depend on what else is imported before it.
    """
    sharing: defaultdict[tuple[GroupKind, str], list[str]] = defaultdict(list)
    for kind, arm_id in resources:
        name = object_name(arm_id.rstrip("/").rpartition("/")[2])
        sharing[kind, name].append(ids.key(arm_id))
    found = {}
    for (_, name), keys in sharing.items():
        for key in keys:
            found[key] = name if len(keys) == 1 else _with_suffix(name, key)
    return found


def _with_suffix(name: str, key: str) -> str:
    digest = hashlib.sha256(key.encode()).hexdigest()[:_SUFFIX_LENGTH]
    return f"{name[: _MAX_LENGTH - _SUFFIX_LENGTH - 1]}-{digest}"
