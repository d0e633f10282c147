"""The options of an import."""

from collections.abc import Callable, Mapping

import attrs

from asoreconcile.azure.catalogue.kinds import Kind
from asoreconcile.azure.reconcile.model.policy import Policy
from asoreconcile.base.objects import GroupKind


@attrs.frozen
class ImportOptions:
    """The options of an import.

    namespace: namespace of the manifests; if "", they have no namespace. labels,
    annotations: metadata of each manifest.

    policy: reconcile policy of the manifests. workers: number of parallel reads.
    versions: version by kind, for kinds that are not imported at their storage version.
    wanted: function that returns whether to import a kind.
    """

    namespace: str = ""
    labels: Mapping[str, str] = attrs.field(factory=dict)
    annotations: Mapping[str, str] = attrs.field(factory=dict)
    policy: Policy = Policy.SKIP
    workers: int = 4
    versions: Mapping[GroupKind, str] = attrs.field(factory=dict)
    wanted: Callable[[Kind], bool] = lambda _: True
