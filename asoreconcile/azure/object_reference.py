"""Objects of any kind by name, as what others depend on."""

import attrs

from asoreconcile.objects import GroupKind, ObjectKey

SECRET = GroupKind("", "Secret")
CONFIG_MAP = GroupKind("", "ConfigMap")


@attrs.frozen
class ObjectReference:
    """Any object of the cluster, by kind and name."""

    group_kind: GroupKind
    key: ObjectKey
