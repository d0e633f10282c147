"""The kind and name of an object, as others refer to it."""

from typing import NamedTuple

from asoreconcile.base.objects import GroupKind, ObjectKey

SECRET = GroupKind("", "Secret")
CONFIG_MAP = GroupKind("", "ConfigMap")


class ObjectReference(NamedTuple):
    """Any object of the cluster, by kind and name."""

    group_kind: GroupKind
    key: ObjectKey

    def __str__(self) -> str:
        return f"{self.group_kind.kind} {self.key}"
