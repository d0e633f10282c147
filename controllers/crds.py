"""CRDs in the cluster: installed where they are missing, and brought up to date.

It compares the hash of what it would write, so a start over an unchanged cluster writes
nothing. `crd_plan` decides about existing CRDs, also about Azure Service Operator's.
Each write is conditional on the resource version that was read: after a crash between
two CRDs all of them work, and of two writers one reads again.
"""

from collections.abc import Callable, Iterable, Mapping

import attrs

from asoreconcile.azure.catalogue.kinds import Kind
from asoreconcile.azure.catalogue.webhookclient import WebhookClient
from asoreconcile.azure.controllers.crd_labels import NAME_LABEL, VERSION_LABEL
from asoreconcile.azure.controllers.crd_plan import (
    INJECTED,
    OPERATORS_NAME,
    CrdPlan,
    DesiredCrds,
    called,
    plan,
)
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    annotations,
    key_of,
    labels,
    resource_version,
)
from asoreconcile.base.version import __version__
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import (
    AlreadyExistsError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
)
from asoreconcile.kube.patch import merge_patch
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from asoreconcile.kube.selection import Selection

FIELD_MANAGER = "asoreconcile"
BUILD = f"asoreconcile-{__version__}"
# Each needs a writer in between; so many in a row is a loop of two installers.
_TRIES = 5

_log = Logger(__name__)


@attrs.frozen
class Installed:
    """applied: how many were written. kept: those that are left as they are though
    they are not what ours would be, by name, and why.
    """

    applied: int
    kept: Mapping[str, str]


def manifest(
    kind: Kind,
    version: str = "",
    *,
    conversion: WebhookClient | None = None,
    rules: bool = True,
) -> JsonObject:
    """A kind's CRD as we install it, with the hash of its spec.

    version: the one to serve, by default the newest. conversion: who converts; all
    versions are served then. rules: whether the API server runs CEL.
    """
    versions = (version,) if version and conversion is None else ()
    return DesiredCrds(BUILD, conversion, rules=rules).manifest(kind, versions)


class CrdInstaller:
    """Installs CRDs, and brings those that are there up to date. For one thread."""

    def __init__(
        self,
        client: KubeClient,
        *,
        conversion: WebhookClient | None = None,
        crd_labels: Mapping[str, str] | None = None,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        """conversion: who converts; None installs one version of each kind.
        crd_labels: the user's. is_stopping: asked before each CRD.
        """
        self._client = client
        self._wanted = DesiredCrds(BUILD, conversion, crd_labels or {})
        self._is_stopping = is_stopping
        self._is_forbidden = False

    def install(
        self, kinds: Iterable[Kind], *, others: Iterable[Kind] = ()
    ) -> Installed:
        """Install the CRDs of kinds that are missing; bring those there up to date.

        others: kinds whose CRDs are only updated, and only if they exist, are Azure
        Service Operator's or ours, and use our conversion. A CRD that serves a single
        version, or that another operator converts, is not changed. An existing CRD that
        ours cannot replace, or that may not be written, is left as it is. Ends early
        for a stop. Blocking. Raises ApiError, TransportError.
        """
        # Metadata alone: whole, those of Azure Service Operator are 50 MB.
        present = {
            key_of(obj).name: obj
            for obj in self._client.list_page(
                Selection(CUSTOM_RESOURCE_DEFINITIONS, metadata_only=True)
            ).items
        }
        wanted = {f"{kind.plural}.{kind.group}": kind for kind in kinds}
        asked = frozenset(wanted)
        for kind in others:
            name = f"{kind.plural}.{kind.group}"
            if labels(present.get(name, {})).get(NAME_LABEL) == OPERATORS_NAME:
                wanted.setdefault(name, kind)
        self._adopt_authority(present.values())
        applied = 0
        kept: dict[str, str] = {}
        for name, kind in sorted(wanted.items()):
            if self._is_stopping():
                break  # the next leader continues
            existing = present.get(name)
            if existing is not None and self._wanted.is_met_by(
                existing, self._wanted.manifest(kind)
            ):
                continue
            # A right is for all CRDs: three hundred refusals would say no more than the
            # first.
            if self._is_forbidden and name not in asked:
                continue
            is_written, why = self._bring(name, kind, asked=name in asked)
            applied += is_written
            if why:
                kept[name] = why
                _log.warning("CRD is left as it is", crd=name, reason=why)
        return Installed(applied, kept)

    def _adopt_authority(self, present: Iterable[JsonObject]) -> None:
        """Have cert-manager see to the caBundle of all where it sees to that of some.

        Only where it is our own Service's: the certificate is in its namespace.
        """
        conversion = self._wanted.conversion
        if conversion is None or not conversion.ca_bundle or not conversion.namespace:
            return
        injected_from = {annotations(obj).get(INJECTED, "") for obj in present}
        ours = sorted(
            t for t in injected_from if t.startswith(f"{conversion.namespace}/")
        )
        if ours:
            self._wanted = attrs.evolve(self._wanted, authority=ours[0])

    def _bring(self, name: str, kind: Kind, *, asked: bool) -> tuple[bool, str]:
        """Whether a CRD was written; and what keeps it as it is."""
        key = ObjectKey("", name)
        for _ in range(_TRIES):
            try:
                live = self._client.get(CUSTOM_RESOURCE_DEFINITIONS, key)
            except ForbiddenError as error:
                self._is_forbidden = True  # logged once: the others are refused as well
                return False, f"it may not be read: {error}"
            except NotFoundError:
                if not asked:
                    return False, ""
                if self._create(self._wanted.manifest(kind)):
                    return True, ""
                continue
            if not asked and called(live) != called(self._wanted.manifest(kind)):
                return False, ""
            planned = plan(kind, live, self._wanted)
            if planned.desired is None:
                return False, planned.why
            try:
                return self._write(live, planned)
            except (ConflictError, NotFoundError):
                continue  # somebody wrote it meanwhile: decide again
        return False, "it is written by somebody else all the time"

    def _create(self, document: JsonObject) -> bool:
        """False: somebody else created it first."""
        _log.info("Installing CRD", crd=key_of(document).name)
        try:
            self._client.create(
                CUSTOM_RESOURCE_DEFINITIONS, document, field_manager=FIELD_MANAGER
            )
        except AlreadyExistsError:
            return False
        return True

    def _write(self, live: JsonObject, planned: CrdPlan) -> tuple[bool, str]:
        """Raises ConflictError if it changed since it was read."""
        change = merge_patch(live, planned.desired or live)
        if change is None:
            return False, ""
        key = key_of(live)
        _log.info(
            "Bringing CRD up to date",
            crd=key.name,
            installedBy=" ".join(filter(None, _marks(live))),
        )
        read = {"resourceVersion": resource_version(live)}
        change["metadata"] = {**change.get("metadata", {}), **read}
        try:
            self._client.patch(
                CUSTOM_RESOURCE_DEFINITIONS, key, change, field_manager=FIELD_MANAGER
            )
        except (ForbiddenError, InvalidError) as error:
            return False, f"it may not be brought up to date: {error}"
        return True, ""


def _marks(definition: JsonObject) -> tuple[str, str]:
    found = labels(definition)
    return found.get(NAME_LABEL, ""), found.get(VERSION_LABEL, "")
