"""The modes of a sync of a Ready resource: send a PUT, or read first and
decide (D11).
"""

from collections.abc import Mapping
from enum import Enum

from asoreconcile.azure.reconcile.model.annotations import OWN_PREFIX

SYNC_MODE = OWN_PREFIX + "sync-mode"


class SyncMode(Enum):
    """The values of `asoreconcile/sync-mode`, on an object or its Namespace.

    ASORECONCILE_SYNC_MODE is the default for objects without the annotation.
    """

    PUT = "put"  # as ASO does: each sync is a PUT
    COMPARE = "compare"  # each sync is a GET; a PUT repairs differences
    REPORT = "report"  # each sync is a GET; differences are reported only


class BulkReads(Enum):
    """The requests by which syncs read resources (`ASORECONCILE_BULK_READS`)."""

    OFF = "off"  # one GET for each resource
    LIST = "list"  # one list for many resources, if there are many


class Undeclared(Enum):
    """The reaction of a sync to a changed value that the spec does not declare.

    Set by ASORECONCILE_UNDECLARED. The new value is the baseline from then on.
    """

    IGNORE = "ignore"  # nothing is reported
    REPORT = "report"  # an event
    PUT = "put"  # an event and one PUT, which may bring it back


class ForeignTags(Enum):
    """The treatment of tags in Azure that the object never declared.

    The annotation is `asoreconcile/foreign-tags`, on an object or its Namespace.
    ASORECONCILE_FOREIGN_TAGS is the default for objects without it.
    """

    KEEP = "keep"  # the PUT has them as Azure has them
    REPLACE = "replace"  # as ASO does: the PUT removes them


def sync_mode_of(
    own: Mapping[str, str], inherited: Mapping[str, str], default: SyncMode
) -> SyncMode:
    """Return the mode in force: the object's, else its namespace's, else the default.
    Pure.

    An unknown value counts as `report`: it may have been meant to protect what others
    wrote in Azure.
    """
    value = own.get(SYNC_MODE) or inherited.get(SYNC_MODE)
    try:
        return SyncMode(value) if value else default
    except ValueError:
        return SyncMode.REPORT
