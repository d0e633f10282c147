"""The cluster's CRDs of Azure kinds: their versions, and whether they are established.

Complete CRDs are watched, because their conditions and versions decide whether a kind
can run. All other parts, up to a megabyte for each CRD, are dropped before the CRD is
cached.
"""

import base64
from collections.abc import Callable, Collection, Iterator, Mapping

import attrs

from asoreconcile.azure.catalogue.kinds import Catalogue, Kind
from asoreconcile.azure.controllers.crd_labels import NAME_LABEL
from asoreconcile.azure.controllers.crd_plan import (
    OPERATORS_NAME,
    called,
    possibly_stored,
)
from asoreconcile.azure.controllers.crds import BUILD
from asoreconcile.azure.controllers.leader_note import LeaderNote
from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import GroupKind, JsonObject, ObjectKey, dig, spec
from asoreconcile.base.tls import fingerprints
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.informer import Informer
from asoreconcile.runtime.health import DEGRADED_AFTER_SECONDS, CheckResult
from asoreconcile.webhooks.ca_bundles import WebhookTarget

# Readiness is read by people and by kubelets' logs: three hundred lines help neither.
_SHOWN = 10
_ESTABLISHED, _ACCEPTED = "Established", "NamesAccepted"


def reduced(crd: JsonObject) -> JsonObject:
    """Return a CRD with only its metadata, versions and conditions, to cache it."""
    versions = [
        {name: one.get(name) for name in ("name", "served", "storage")}
        for one in spec(crd).get("versions") or ()
    ]
    conditions = [
        {name: one.get(name) for name in ("type", "status", "message")}
        for one in dig(crd, "status.conditions") or ()
        if one.get("type") in (_ESTABLISHED, _ACCEPTED)
    ]
    return {
        "apiVersion": crd.get("apiVersion"),
        "kind": crd.get("kind"),
        "metadata": crd["metadata"],
        "spec": {
            "versions": versions,
            "calls": called(crd),
            "trusts": sorted(fingerprints(_ca_bundle(crd))),
        },
        "status": {
            "conditions": conditions,
            "storedVersions": dig(crd, "status.storedVersions") or [],
        },
    }


def _ca_bundle(crd: JsonObject) -> bytes:
    text = dig(crd, "spec.conversion.webhook.clientConfig.caBundle") or ""
    try:
        return base64.b64decode(text)
    except (TypeError, ValueError):
        return b""


@attrs.frozen
class CrdState:
    """The state of a CRD.

    served: names of the served versions; empty if the CRD is not established.
    refused: why it is not established, or "".
    is_deleting: whether its deletion has begun; its objects can be read until its end.
    stored: names of the versions that objects may be stored in.
    """

    served: frozenset[str]
    refused: str = ""
    is_deleting: bool = False
    stored: frozenset[str] = frozenset()

    @classmethod
    def of(cls, crd: JsonObject, *, is_deleting: bool) -> "CrdState":
        """Return the state of a CRD, whole or reduced."""
        conditions = {
            str(one.get("type")): one for one in dig(crd, "status.conditions") or ()
        }
        if (conditions.get(_ESTABLISHED) or {}).get("status") != "True":
            said = (conditions.get(name) or {} for name in (_ACCEPTED, _ESTABLISHED))
            why = next((str(o["message"]) for o in said if o.get("message")), "")
            text = f"its CRD is not established: {why or 'no reason is given'}"
            return cls(frozenset(), text, is_deleting)
        served = {
            str(one.get("name"))
            for one in spec(crd).get("versions") or ()
            if one.get("served")
        }
        return cls(frozenset(served), "", is_deleting, possibly_stored(crd))


class Definitions:
    """The cluster's CRDs of Azure kinds. Safe from any thread; sends no request."""

    def __init__(
        self,
        cached: Informer,
        catalogue: Catalogue,
        *,
        installed: Collection[Kind],
        clock: Clock,
        degraded_after_seconds: float = DEGRADED_AFTER_SECONDS,
        leader: Callable[[], LeaderNote] = LeaderNote,
    ) -> None:
        """installed: kinds whose CRDs this process, or the leader, installs.
        leader: returns the note of another process that leads.
        """
        self._cached = cached
        self._kinds = {_name(kind): kind for kind in catalogue.kinds()}
        self._installed = sorted(map(_name, installed))
        self.installed = frozenset(kind.group_kind for kind in installed)
        """The kinds whose CRDs this process, or the leader, installs."""
        self._clock = clock
        self._leader = leader
        self._degraded_at = clock.monotonic() + degraded_after_seconds

    def versions(self) -> dict[str, str]:
        """Return the existing CRDs: name -> resource version."""
        return {name: entry.resource_version for name, entry in self._entries()}

    def states(self) -> Mapping[GroupKind, CrdState] | None:
        """Return the state of each existing CRD, or None before all are listed."""
        if not self._cached.has_synced():
            return None
        return {
            self._kinds[name].group_kind: CrdState.of(
                entry.shared_view(), is_deleting=entry.deleting
            )
            for name, entry in self._entries()
        }

    def targets(self) -> list[WebhookTarget]:
        """Return the conversion webhooks of the existing CRDs."""
        return [
            WebhookTarget.crd(name, version=version)
            for name, version in self.versions().items()
        ]

    def distrusting(self, address: tuple[str, ...], trusted: Collection[str]) -> str:
        """Return the name of a CRD that calls a webhook at this address (`called`) and
        trusts none of these fingerprints, or "".
        """
        for name, entry in self._entries():
            reduced_spec = spec(entry.shared_view())
            trusts = reduced_spec.get("trusts")
            if (
                trusts
                and tuple(reduced_spec["calls"]) == address
                and set(trusts).isdisjoint(trusted)
            ):
                return name
        return ""

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

        Missing CRDs fail readiness only for some time, and are only reported
        afterwards. They are only reported, too, while a leader of another release may
        not know them, because that leader ends only once this process is ready.
        """
        # One missing permission must not keep the webhooks of all other kinds down for
        # good.
        degraded = self._clock.monotonic() >= self._degraded_at
        if not self._cached.has_synced():
            return CheckResult(ok=degraded, details=("not listed yet",))
        missing = {}
        for name in self._installed:
            entry = self._cached.entry(ObjectKey("", name))
            if entry is None:
                missing[name] = "not installed yet"
            elif entry.deleting:
                missing[name] = "is being deleted"
        details = [f"{name}: {why}" for name, why in missing.items()][:_SHOWN]
        if len(missing) > _SHOWN:
            details.append(f"and {len(missing) - _SHOWN} more")
        degraded = degraded or self._leader().build not in ("", BUILD)
        return CheckResult(ok=degraded or not missing, details=tuple(details))

    def _entries(self) -> Iterator[tuple[str, Entry]]:
        for name in self._kinds:
            if (entry := self._cached.entry(ObjectKey("", name))) is not None:
                yield name, entry


def _name(kind: Kind) -> str:
    return f"{kind.plural}.{kind.group}"
