"""The modes of a sync of a Ready resource: send a PUT, or read first and
decide (D11).
"""

from collections.abc import Mapping
from enum import Enum

from asoreconcile.azure.reconcile.model.annotation_row import Annotation, choice
from asoreconcile.azure.reconcile.model.annotations import FOREIGN_TAGS, OWN_PREFIX

SYNC_MODE = OWN_PREFIX + "sync-mode"


class SyncMode(Enum):
    """The values of `asoreconcile/sync-mode`, on an object or its Namespace.

    ASORECONCILE_SYNC_MODE is the default for objects without the annotation.
    """

    PUT = "put"  # as ASO does: each sync is a PUT
    COMPARE = "compare"  # each sync is a GET; a PUT repairs differences
    REPORT = "report"  # each sync is a GET; differences are reported only


SYNC_MODE_ROW: Annotation[SyncMode] = Annotation(
    SYNC_MODE,
    says="how a sync looks for differences: `compare` reads and repairs them by a PUT, "
    "`report` only reads and reports them, `put` sends a PUT each time",
    values="`put`, `compare` or `report`",
    section="operations.md#what-a-sync-does",
    effect="syncs only report",
    parse=choice(SyncMode),
    # It may have been meant to protect what others wrote in Azure.
    if_wrong=SyncMode.REPORT,
    setting="ASORECONCILE_SYNC_MODE",
    default=SyncMode.COMPARE,
    is_arm_only=True,
)


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


FOREIGN_TAGS_ROW: Annotation[ForeignTags] = Annotation(
    FOREIGN_TAGS,
    says="what a PUT does with tags in Azure that the object never declared",
    values="`keep` or `replace`",
    section="#tags-that-others-set",
    effect="foreign tags are kept",
    parse=choice(ForeignTags),
    if_wrong=ForeignTags.KEEP,
    setting="ASORECONCILE_FOREIGN_TAGS",
    default=ForeignTags.KEEP,
    is_arm_only=True,
    changes_put=True,
)


def sync_mode_of(
    own: Mapping[str, str], inherited: Mapping[str, str], default: SyncMode
) -> SyncMode:
    """Return the mode in force: the object's, else its namespace's, else the default.
    Pure.

    An unknown value counts as `report`: it may have been meant to protect what others
    wrote in Azure.
    """
    return SYNC_MODE_ROW.value(own, inherited, default) or SyncMode.REPORT
