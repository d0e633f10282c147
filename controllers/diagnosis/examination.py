"""Runs the checks, each with the objects that it needs. An object that may not be read
is a finding, too.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

import attrs

from asoreconcile.azure.arm.credentials import CredentialSource
from asoreconcile.azure.catalogue.conversion import KindConversionError, as_authored
from asoreconcile.azure.catalogue.inputs import has_secrets, secret_texts
from asoreconcile.azure.catalogue.reserved import (
    NAMESPACE_SECRET,
    SERVING_SECRET,
    is_export,
)
from asoreconcile.azure.catalogue.webhook_manifests import (
    MUTATING_NAME,
    VALIDATING_NAME,
)
from asoreconcile.azure.controllers.diagnosis import (
    checks,
    crd_checks,
    credential_checks,
    environment_checks,
    webhook_checks,
)
from asoreconcile.azure.controllers.diagnosis.finding import CheckSubject, Finding
from asoreconcile.azure.controllers.diagnosis.installation import InstallationReads
from asoreconcile.azure.controllers.diagnosis.object_parts import (
    arguments_of,
    names_in,
    setting_of,
)
from asoreconcile.azure.controllers.diagnosis.rights import (
    Right,
    of_rights,
    operator_rights,
)
from asoreconcile.azure.controllers.discovery import OldServerError, read_names
from asoreconcile.azure.controllers.secret_access import why_no_policy
from asoreconcile.azure.controllers.workload_tokens import SERVICE_ACCOUNT
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import (
    CREDENTIAL_FROM,
)
from asoreconcile.azure.reconcile.model.instructions import EXPORTS_AS_CREDENTIALS_ROW
from asoreconcile.azure.reconcile.model.switches import is_on
from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    dig,
    gvk_of,
    key_of,
    metadata,
    spec,
)
from asoreconcile.base.version import __version__
from asoreconcile.kube.errors import (
    ApiError,
    ForbiddenError,
    NotFoundError,
    UnauthorizedError,
)
from asoreconcile.kube.resources import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
)
from asoreconcile.kube.selection import Selection
from asoreconcile.webhooks.ca_bundles import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS

_CLUSTER = CheckSubject("cluster")
_OPERATOR = CheckSubject("operator")
_KINDS = CheckSubject("kinds")
_OBJECTS = CheckSubject("objects")

_MODE = "AZURE_OPERATOR_MODE"
_TARGETS = "AZURE_TARGET_NAMESPACES"
_CHECKS_ACCESS = "ASORECONCILE_CHECK_SECRET_ACCESS"
_IDENTITY_MODE = "AZURE_WORKLOAD_IDENTITY_AUTH_MODE"
_OWN_BUILD = f"asoreconcile-{__version__}"


@attrs.frozen
class Examination:
    """One examination of an installation. Blocking; for one thread.

    sign_in: signs in with a credential and returns the number of subscriptions; None
    skips Azure.
    own_sign_in: the same for the user who runs the command; None skips it.
    environment: environment variables of this process.
    """

    _at: InstallationReads
    _sign_in: Callable[[CredentialSource], int] | None
    _own_sign_in: Callable[[], Finding] | None
    _environment: Mapping[str, str]
    _clock: Clock

    def findings(self) -> Iterator[Finding]:
        """Yield the findings as the checks end.

        Raises TransportError if the cluster does not respond, and UnauthorizedError if
        it knows no such user; every other failure is a finding.
        """
        refusals: dict[str, str] = {}
        for name, look in (
            ("cluster", self._cluster),
            ("clock", self._clocks),
            ("operator", self._operator),
            ("proxies", self._proxies),
            ("settings", self._settings_),
            ("leader", self._leader),
            ("kinds", self._kinds),
            ("webhooks", self._webhooks),
            ("objects", self._not_ready),
            ("rights", self._rights),
            ("credentials", self._credentials),
            ("Azure", self._azure),
        ):
            subject = CheckSubject(name)
            try:
                yield from look()
            except ForbiddenError as refused:
                first = refusals.setdefault(str(refused), name)
                text = f"not checked, for the same reason as {first}"
                yield subject.unknown(
                    *((text, "") if first != name else _lack(refused))
                )
            except UnauthorizedError:
                raise  # no other check would go on
            except ApiError as failed:
                # The other checks may say why, such as webhooks that do not answer.
                mend = "look at the other findings, and at the API server's log"
                yield subject.error(str(failed), mend)

    def _cluster(self) -> Iterator[Finding]:
        version = self._at.client.read("/version", accept="application/json")
        yield _CLUSTER.ok(f"Kubernetes {version.get('gitVersion', '')} answers")
        images = self._at.images
        yield from environment_checks.of_versions(version, images, __version__)

    def _clocks(self) -> Iterator[Finding]:
        """Read the API server's time from a dry run that creates an object."""
        meta = {"generateName": "asoctl-doctor-", "namespace": self._at.names.namespace}
        probe = {"metadata": meta}
        try:
            made = self._at.client.with_defaults(dry_run=True).create(
                CONFIG_MAPS, probe
            )
        except NotFoundError:
            return  # the namespace is not there, which others say
        server = datetime.fromisoformat(metadata(made)["creationTimestamp"])
        renewed = dig(self._at.lease or {}, "spec.renewTime")
        when = datetime.fromisoformat(renewed) if renewed else None
        yield from environment_checks.of_clocks(server, self._clock.now(), when)

    def _operator(self) -> Iterator[Finding]:
        # Read first: it may be in another namespace than the one that was asked for.
        deployment = self._at.deployment
        name = self._at.place(self._at.names.deployment)
        yield from checks.of_deployment(
            deployment,
            name,
            elsewhere=self._at.elsewhere,
            is_outside=self._at.runs_outside,
        )
        if self._at.is_aso:
            text = "its rights are not compared with those of this program"
            yield _OPERATOR.ok(f"it is Azure Service Operator: {text}")
        if deployment is not None:
            with suppress(ForbiddenError):
                yield from checks.of_rivals(name, self._at.targets, self._rivals())
        yield from checks.of_pods(self._at.pods)

    def _rivals(self) -> Mapping[str, Collection[str]]:
        """Return where the other running operators reconcile, by Deployment."""
        named = f"metadata.name={self._at.names.deployment}"
        found = {}
        for one in self._at.client.list_all(
            Selection(DEPLOYMENTS, field_selector=named)
        ):
            key = key_of(one)
            if (
                key.namespace == self._at.names.namespace
                or spec(one).get("replicas") == 0
            ):
                continue
            secret = self._at.read(
                SECRETS, ObjectKey(key.namespace, self._at.names.settings)
            )
            if setting_of(one, secret, _MODE).lower() != "webhooks":
                found[str(key)] = names_in(setting_of(one, secret, _TARGETS))
        return found

    def _proxies(self) -> Iterator[Finding]:
        if self._at.deployment is None:
            return
        try:
            service = self._at.client.get(SERVICES, ObjectKey("default", "kubernetes"))
        except NotFoundError:
            service = {}
        address = str(spec(service).get("clusterIP") or "")
        yield from environment_checks.of_proxies(
            self._at.deployment, address, self._environment
        )

    def _settings_(self) -> Iterator[Finding]:
        if self._at.deployment is None and self._at.settings is None:
            return
        name = self._at.place(self._at.names.settings)
        yield from checks.of_settings(self._at.settings, name)
        if self._at.settings is not None:
            deployment = self._at.place(self._at.names.deployment)
            yield from checks.of_restart(self._at.settings, self._at.pods, deployment)

    def _leader(self) -> Iterator[Finding]:
        if self._at.deployment is None and self._at.lease is None:
            return
        name = self._at.place(self._at.names.lease)
        yield from checks.of_lease(self._at.lease, name, self._clock.now())

    def _kinds(self) -> Iterator[Finding]:
        try:
            names = read_names(self._at.client)
        except OldServerError as old:
            yield _KINDS.error(str(old), "upgrade the cluster: no kind runs")
            return
        yield from crd_checks.of_crds(
            self._at.crds, self._at.catalogue, _OWN_BUILD, names
        )
        if self._at.deployment is not None:
            yield from crd_checks.of_missing_kinds(
                self._at.deployment, self._at.crds, self._at.catalogue
            )

    def _webhooks(self) -> Iterator[Finding]:
        serving = self._at.get(SECRETS, SERVING_SECRET)
        yield from webhook_checks.of_conversions(
            self._at.crds, self._clock.now(), serving=serving
        )
        found = {}
        for resource, name in (
            (MUTATING_WEBHOOKS, MUTATING_NAME),
            (VALIDATING_WEBHOOKS, VALIDATING_NAME),
        ):
            key = ObjectKey("", name)
            found[f"{resource.kind} {name}"] = self._at.read(resource, key)
        yield from webhook_checks.of_admission(found, self._at.names.namespace)
        deployment, settings = self._at.deployment, self._at.settings
        if setting_of(deployment, settings, _CHECKS_ACCESS).strip().lower() == "true":
            why = why_no_policy(self._at.client, self._at.catalogue)
            yield from webhook_checks.of_secret_access(why, deployment)
        asked = webhook_checks.services_asked(self._at.crds, found.values())
        for key, what in asked.items():
            service = self._at.read(SERVICES, key)
            yield from webhook_checks.of_service(
                key, service, what, self._at.deployment
            )
        yield from webhook_checks.of_serving_certificate(serving, self._clock.now())
        if serving is None and self._at.deployment is not None and not self._at.is_aso:
            lost = self._at.place(SERVING_SECRET)
            yield from webhook_checks.of_lost_certificate(
                lost, self._at.crds, self._at.deployment
            )

    def _not_ready(self) -> Iterator[Finding]:
        objects = self._at.objects
        unread = [*self._at.unlisted, *self._at.refused]
        yield from checks.of_objects(objects, self._clock.now(), unread)
        for refused in [*self._at.refused.values()][:1]:
            yield _OBJECTS.unknown(*_lack(refused))
        yield from checks.of_annotations(
            self._at.objects, self._at.namespaces, self._at.catalogue
        )
        for kind, why in self._at.unlisted.items():
            yield _OBJECTS.error(
                f"those of {kind} cannot be listed: {why}",
                "look at the findings on webhooks: its conversion may not answer",
            )
        yield from checks.of_secret_texts(self._secret_texts())

    def _secret_texts(self) -> Iterator[tuple[JsonObject, Sequence[str]]]:
        """Yield the objects whose specs hold secrets, with the paths: read in the form
        that the cluster keeps, as other versions do not show such a text.
        """
        for group_kind in dict.fromkeys(gvk_of(o).group_kind for o in self._at.objects):
            kind = self._at.catalogue.kind(group_kind)
            if not has_secrets(kind.version().table):
                continue
            for obj in self._at.listed(self._at.kept[group_kind]):
                with suppress(KindConversionError):  # its own finding says so
                    authored = as_authored(kind, obj)
                    version = kind.version(gvk_of(authored).version)
                    if texts := secret_texts(version, spec(authored)):
                        yield obj, [text.path for text in texts]

    def _rights(self) -> Iterator[Finding]:
        if self._at.deployment is None or self._at.is_aso:
            return
        words = arguments_of(self._at.deployment)
        asked = operator_rights(
            self._at.served,
            namespace=self._at.names.namespace,
            targets=self._at.targets,
            lease=self._at.names.lease
            if _has(words, "--enable-leader-election")
            else "",
            writes_crds=_has(words, "--crd-pattern"),
        )
        yield from of_rights(self._at.allowed([*asked]), self._at.user)

    def _credentials(self) -> Iterator[Finding]:
        if self._at.settings is not None:
            yield from credential_checks.of_settings_credential(
                self._at.settings, self._sign_in
            )
        named = {
            f"{key_of(obj).namespace}/{annotations(obj)[CREDENTIAL_FROM]}": (
                f"{obj.get('kind')} {key_of(obj)}"
            )
            for obj in self._at.objects
            if annotations(obj).get(CREDENTIAL_FROM)
        }
        spaces = {key_of(obj).namespace for obj in self._at.objects}
        workloads = set()
        for name in sorted({*named, *(f"{s}/{NAMESPACE_SECRET}" for s in spaces)}):
            namespace, _, secret = name.partition("/")
            found = self._at.read(SECRETS, ObjectKey(namespace, secret))
            if found is not None:
                if is_export(found):
                    inherited = self._at.namespaces.get(namespace, {})
                    yield from credential_checks.of_export(
                        name, is_allowed=is_on(inherited, EXPORTS_AS_CREDENTIALS_ROW)
                    )
                if credential_checks.is_workload_identity(found):
                    workloads.add(namespace)
                yield from credential_checks.of_secret(found, self._sign_in)
            elif name in named:
                yield credential_checks.of_missing(name, named)
        yield from self._workloads(workloads)

    def _workloads(self, namespaces: Iterable[str]) -> Iterator[Finding]:
        if self._at.deployment is None or self._at.is_aso:
            return
        rights = {
            name: Right(
                *("create", "", "serviceaccounts", "token"), name, SERVICE_ACCOUNT
            )
            for name in namespaces
        }
        allowed = self._at.allowed([*rights.values()])
        lacks = {}
        for name, right in rights.items():
            lacks[name] = "" if allowed[right] else f"the operator may not {right}"
            if (
                self._at.read(SERVICE_ACCOUNTS, ObjectKey(name, SERVICE_ACCOUNT))
                is None
            ):
                lacks[name] = f"no ServiceAccount {SERVICE_ACCOUNT}"
        mode = setting_of(self._at.deployment, self._at.settings, _IDENTITY_MODE)
        yield from credential_checks.of_strict_identities(
            lacks, is_strict=mode.strip().lower() == "strict"
        )

    def _azure(self) -> Iterator[Finding]:
        if self._own_sign_in is not None:
            yield self._own_sign_in()


def _lack(refused: ForbiddenError) -> tuple[str, str]:
    """Return the texts of a finding about a right that the user lacks."""
    return str(refused), (
        "look again as a user who may read this: asoctl doctor --context NAME; "
        "`asoctl explain -n NAMESPACE` needs the objects of one namespace alone"
    )


def _has(words: Iterable[str], name: str) -> bool:
    """Return whether a flag is given without `=false`."""
    return any(
        word.partition("=")[0] == name and word.partition("=")[2] != "false"
        for word in words
    )
