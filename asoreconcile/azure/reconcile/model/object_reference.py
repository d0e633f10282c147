"""A reference to an object of the cluster: its kind and name."""

from typing import NamedTuple

from asoreconcile.base.objects import GroupKind, ObjectKey

SECRET = GroupKind("", "Secret")
CONFIG_MAP = GroupKind("", "ConfigMap")


class ObjectReference(NamedTuple):
    """The kind, namespace and name of any object in the cluster."""

    group_kind: GroupKind
    key: ObjectKey

    def __str__(self) -> str:
        return f"{self.group_kind.kind} {self.key}"
