"""Install missing CRDs in the cluster, and update existing ones.

A CRD is compared by its content, so a start over an unchanged cluster writes nothing,
and edits by hand are repaired. `crd_plan` decides about existing CRDs, also about Azure
Service Operator's. Each write is conditional on the resource version that was read: all
CRDs work after a crash between two of them, and if two processes write one, the second
reads it again.
"""

from collections.abc import Callable, Iterable, Mapping

import attrs

from asoreconcile.azure.catalogue.kinds import Kind
from asoreconcile.azure.catalogue.webhook_manifests import WebhookClient
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
    is_deleting,
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
# A try fails if another writer changes the CRD meanwhile; so many failures in a row
# mean that two installers overwrite each other.
_TRIES = 5

_log = Logger(__name__)


@attrs.frozen
class Installed:
    """The result of an installation.

    applied: number of CRDs that were written.
    kept: CRDs that are left unchanged although they differ from ours: name and reason.
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
    """Return a kind's CRD as the operator installs it, with the hash of its spec.

    version: the version to serve, by default the newest.
    conversion: the conversion webhook; all versions are served then.
    rules: whether the API server supports CEL.
    """
    versions = (version,) if version and conversion is None else ()
    return DesiredCrds(BUILD, conversion, rules=rules).manifest(kind, versions)


class CrdInstaller:
    """Installs and updates CRDs. For one thread."""

    def __init__(
        self,
        client: KubeClient,
        *,
        conversion: WebhookClient | None = None,
        crd_labels: Mapping[str, str] | None = None,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        """conversion: the conversion webhook; None installs one version of each kind.
        crd_labels: the user's labels.
        is_stopping: called before each CRD; if it returns true, the installation ends.
        """
        self._client = client
        self._wanted = DesiredCrds(BUILD, conversion, crd_labels or {})
        self._is_stopping = is_stopping
        self._is_forbidden = False

    def install(
        self, kinds: Iterable[Kind], *, others: Iterable[Kind] = ()
    ) -> Installed:
        """Install the missing CRDs of kinds, and update existing ones.

        others: kinds whose CRDs are not created. They are updated if an operator for
        Azure has installed them and they use this conversion webhook. A CRD with a
        single version, or with another webhook, is not changed.

        An existing CRD that the operator's CRD cannot replace, or that may not be
        written, is left unchanged. Ends early for a stop. Blocking. Raises ApiError,
        TransportError.
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
            # A right is for all CRDs: three hundred refusals would say no more than the
            # first.
            if self._is_forbidden and name not in asked:
                continue
            is_written, why = self.bring(name, kind, asked=name in asked)
            applied += is_written
            if why:
                kept[name] = why
        return Installed(applied, kept)

    def _adopt_authority(self, present: Iterable[JsonObject]) -> None:
        """Let cert-manager set the caBundle of all CRDs if it already sets that of
        some.

        Only if the certificate is for this operator's Service, that is, in the
        Service's namespace.
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

    def bring(self, name: str, kind: Kind, *, asked: bool = True) -> tuple[bool, str]:
        """Install or update one CRD.

        asked: whether to install a missing one. Returns whether a CRD was written, and
        the reason if it was left unchanged although it differs. Blocking; raises as
        `install` does.
        """
        is_written, why = self._bring(name, kind, asked=asked)
        if why:
            _log.warning("CRD is left as it is", crd=name, reason=why)
        return is_written, why

    def _bring(self, name: str, kind: Kind, *, asked: bool) -> tuple[bool, str]:
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
            if is_deleting(live):
                return False, "it is being deleted"
            if not asked and called(live) != called(self._wanted.manifest(kind)):
                return False, ""
            planned = plan(kind, live, self._wanted)
            if planned.desired is None:
                return False, planned.why
            try:
                return self._write(live, planned)
            except (ConflictError, NotFoundError):
                continue  # another client wrote it meanwhile: decide again
        return False, "another writer changes it again and again"

    def _create(self, document: JsonObject) -> bool:
        """Create a CRD; return false if another process created it first."""
        _log.info("Installing CRD", crd=key_of(document).name)
        try:
            self._client.create(
                CUSTOM_RESOURCE_DEFINITIONS, document, field_manager=FIELD_MANAGER
            )
        except AlreadyExistsError:
            return False
        return True

    def _write(self, live: JsonObject, planned: CrdPlan) -> tuple[bool, str]:
        """Update a CRD. Raises ConflictError if it changed since it was read."""
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
