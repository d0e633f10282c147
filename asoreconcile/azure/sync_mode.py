"""What a sync of a resource in order does: PUT it, or look whether it must (D11)."""

from collections.abc import Mapping
from enum import Enum

from asoreconcile.azure.annotations import OWN_PREFIX

SYNC_MODE = OWN_PREFIX + "sync-mode"


class SyncMode(Enum):
    """`asoreconcile/sync-mode`, on an object or its Namespace.

    ASORECONCILE_SYNC_MODE says it for all the others.
    """

    PUT = "put"  # as ASO does: each sync is a PUT
    COMPARE = "compare"  # each sync is a GET; a PUT mends what differs
    REPORT = "report"  # each sync is a GET; what differs is said and left alone


class BulkReads(Enum):
    """How syncs that read do it (`ASORECONCILE_BULK_READS`)."""

    OFF = "off"  # by one GET each
    LIST = "list"  # by a list for many, where there are many
    GRAPH = "graph"  # by a query of Resource Graph first, then as LIST


class Undeclared(Enum):
    """What a sync does that finds a value changed which no spec declares.

    ASORECONCILE_UNDECLARED says it. Whatever was found counts from then on.
    """

    IGNORE = "ignore"  # nothing is said
    REPORT = "report"  # an event
    PUT = "put"  # an event and one PUT, which may bring it back


def sync_mode_of(
    annotations: Mapping[str, str],
    namespace_annotations: Mapping[str, str],
    default: SyncMode,
) -> SyncMode:
    """The mode in force: the object's, else its namespace's, else the default. Pure.

    A value that is none counts as the default.
    """
    value = annotations.get(SYNC_MODE) or namespace_annotations.get(SYNC_MODE)
    try:
        return SyncMode(value) if value else default
    except ValueError:
        return default
