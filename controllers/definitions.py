"""The cluster's CRDs of our kinds, and their versions.

Only their metadata is watched: a CRD may have a megabyte.
"""

from collections.abc import Collection
from typing import Protocol

from asoreconcile.azure.catalogue.kinds import Catalogue, Kind
from asoreconcile.azure.controllers.crd_labels import NAME_LABEL
from asoreconcile.azure.controllers.crd_plan import OPERATORS_NAME
from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import ObjectKey
from asoreconcile.cache.entry import Entry
from asoreconcile.runtime.health import DEGRADED_AFTER_SECONDS, CheckResult
from asoreconcile.webhooks.ca_bundles import WebhookTarget

# Readiness is read by people and by kubelets' logs: three hundred lines help neither.
_SHOWN = 10


class Cached(Protocol):
    """Metadata of all CRDs (`cache.informer.Informer`)."""

    def has_synced(self) -> bool:
        """Return whether the cache holds the first list."""

    def entry(self, key: ObjectKey) -> Entry | None:
        """Return the CRD's metadata, or None if there is no such CRD."""


class Definitions:
    """The cluster's CRDs of our kinds. Safe from any thread; sends no request."""

    def __init__(
        self,
        cached: Cached,
        catalogue: Catalogue,
        *,
        installed: Collection[Kind],
        clock: Clock,
        degraded_after_seconds: float = DEGRADED_AFTER_SECONDS,
    ) -> None:
        """installed: kinds whose CRDs this process, or the leader, installs."""
        self._cached = cached
        self._kinds = {_name(kind): kind for kind in catalogue.kinds()}
        self._installed = sorted(map(_name, installed))
        self._clock = clock
        self._degraded_at = clock.monotonic() + degraded_after_seconds

    def versions(self) -> dict[str, str]:
        """Return the existing CRDs: name -> resource version."""
        found = {}
        for name in self._kinds:
            entry = self._cached.entry(ObjectKey("", name))
            if entry is not None:
                found[name] = entry.resource_version
        return found

    def targets(self) -> list[WebhookTarget]:
        """Return the conversion webhooks of the existing CRDs."""
        return [
            WebhookTarget.crd(name, version=version)
            for name, version in self.versions().items()
        ]

    def is_ours(self, crd: Entry) -> bool:
        """Return whether the CRD is of one of our kinds, whoever installed it."""
        return crd.key.name in self._kinds

    def is_of_operators(self, crd: Entry) -> bool:
        """Return whether the CRD is of one of our kinds, and labelled as an operator's.

        The operator is this one or Azure Service Operator.
        """
        ours = crd.labels.get(NAME_LABEL) == OPERATORS_NAME
        return ours and self.is_ours(crd)

    def ready(self) -> CheckResult:
        """Check that the CRDs to install exist; a readiness check.

        After some time missing CRDs are only reported, and no longer fail readiness.
        """
        # One missing permission must not keep the webhooks of all other kinds down for
        # good.
        degraded = self._clock.monotonic() >= self._degraded_at
        if not self._cached.has_synced():
            return CheckResult(ok=degraded, details=("not listed yet",))
        missing = [
            name
            for name in self._installed
            if self._cached.entry(ObjectKey("", name)) is None
        ]
        details = [f"{name}: not installed yet" for name in missing[:_SHOWN]]
        if len(missing) > _SHOWN:
            details.append(f"and {len(missing) - _SHOWN} more")
        return CheckResult(ok=degraded or not missing, details=tuple(details))


def _name(kind: Kind) -> str:
    return f"{kind.plural}.{kind.group}"
