"""Runs the checks: reads the objects that each check needs. An object that may not be
read is a finding, too.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from functools import cached_property

import attrs

from asoreconcile.azure.arm.credentials import CredentialSource
from asoreconcile.azure.catalogue.conversion import KindConversionError, as_authored
from asoreconcile.azure.catalogue.inputs import has_secrets, secret_texts
from asoreconcile.azure.catalogue.kinds import Catalogue, KindVersion
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
from asoreconcile.azure.controllers.diagnosis.fixes import DEPLOYMENTS
from asoreconcile.azure.controllers.diagnosis.object_parts import (
    arguments_of,
    containers_of,
    names_in,
    setting_of,
)
from asoreconcile.azure.controllers.diagnosis.rights import (
    Right,
    of_rights,
    operator_rights,
)
from asoreconcile.azure.controllers.discovery import (
    OldServerError,
    discover,
    read_names,
)
from asoreconcile.azure.controllers.kind_registry import resource_of
from asoreconcile.azure.controllers.workload_tokens import SERVICE_ACCOUNT
from asoreconcile.azure.reconcile.model.annotations import (
    CREDENTIAL_FROM,
    EXPORTS_AS_CREDENTIALS,
)
from asoreconcile.azure.reconcile.model.conditions import find_ready
from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    annotations,
    dig,
    gvk_of,
    key_of,
    metadata,
    spec,
    status,
)
from asoreconcile.base.version import __version__
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import (
    ApiError,
    ForbiddenError,
    NotFoundError,
    UnauthorizedError,
)
from asoreconcile.kube.resources import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    LEASES,
    NAMESPACES,
    SECRETS,
    SERVICE_ACCOUNTS,
    ApiResource,
)
from asoreconcile.kube.selection import Selection

_CLUSTER = CheckSubject("cluster")
_OPERATOR = CheckSubject("operator")
_KINDS = CheckSubject("kinds")
_OBJECTS = CheckSubject("objects")

_PODS = ApiResource("", "v1", "pods", "Pod")
_SERVICES = ApiResource("", "v1", "services", "Service")
_REVIEWS = ApiResource(
    "authorization.k8s.io",
    "v1",
    "subjectaccessreviews",
    "SubjectAccessReview",
    namespaced=False,
)
_ADMISSION = "admissionregistration.k8s.io"
_CONFIGURATIONS = (
    ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", MUTATING_NAME),
    (
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        VALIDATING_NAME,
    ),
)
_MODE = "AZURE_OPERATOR_MODE"
_TARGETS = "AZURE_TARGET_NAMESPACES"
_IDENTITY_MODE = "AZURE_WORKLOAD_IDENTITY_AUTH_MODE"
_OWN_BUILD = f"asoreconcile-{__version__}"
_ASKED_AT_ONCE = 8


@attrs.frozen
class Installation:
    """The names of an operator's objects, as in its manifests."""

    namespace: str = "azureserviceoperator-system"
    deployment: str = "azureserviceoperator-controller-manager"
    service_account: str = "azureserviceoperator-default"
    settings: str = "aso-controller-settings"
    lease: str = "controllers-leader-election-azinfra-generated"


@attrs.define(slots=False)
class Examination:
    """One examination of an installation. Blocking; for one thread.

    sign_in: signs in with a credential and returns the number of subscriptions; None
    skips Azure.
    own_sign_in: the same for the user who runs the command; None skips it.
    environment: environment variables of this process.
    """

    _client: KubeClient
    _catalogue: Catalogue
    _at: Installation = attrs.field(alias="installation")
    _sign_in: Callable[[CredentialSource], int] | None
    _own_sign_in: Callable[[], Finding] | None
    _environment: Mapping[str, str]
    _clock: Clock
    _unlisted: dict[str, str] = attrs.field(factory=dict, init=False)
    _refused: dict[str, ForbiddenError] = attrs.field(factory=dict, init=False)
    _elsewhere: Sequence[str] = attrs.field(default=(), init=False)

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
        version = self._client.read("/version", accept="application/json")
        yield _CLUSTER.ok(f"Kubernetes {version.get('gitVersion', '')} answers")
        images = [str(one.get("image")) for one in containers_of(self._deployment)]
        yield from environment_checks.of_versions(version, images, __version__)

    def _clocks(self) -> Iterator[Finding]:
        """Read the API server's time from a dry run that creates an object."""
        meta = {"generateName": "asoctl-doctor-", "namespace": self._at.namespace}
        probe = {"metadata": meta}
        try:
            made = self._client.with_defaults(dry_run=True).create(CONFIG_MAPS, probe)
        except NotFoundError:
            return  # the namespace is not there, which others say
        server = datetime.fromisoformat(metadata(made)["creationTimestamp"])
        renewed = dig(self._lease or {}, "spec.renewTime")
        when = datetime.fromisoformat(renewed) if renewed else None
        yield from environment_checks.of_clocks(server, self._clock.now(), when)

    def _operator(self) -> Iterator[Finding]:
        # Read first: it may be in another namespace than the one that was asked for.
        deployment = self._deployment
        name = self._place(self._at.deployment)
        yield from checks.of_deployment(
            deployment, name, elsewhere=self._elsewhere, is_outside=self._runs_outside
        )
        if self._is_aso:
            text = "its rights are not compared with those of this program"
            yield _OPERATOR.ok(f"it is Azure Service Operator: {text}")
        if deployment is not None:
            with suppress(ForbiddenError):
                yield from checks.of_rivals(name, self._targets, self._rivals())
        yield from checks.of_pods(self._pods)

    def _rivals(self) -> Mapping[str, Collection[str]]:
        """Return where the other running operators reconcile, by Deployment."""
        named = f"metadata.name={self._at.deployment}"
        found = {}
        for one in self._client.list_all(Selection(DEPLOYMENTS, field_selector=named)):
            key = key_of(one)
            if key.namespace == self._at.namespace or spec(one).get("replicas") == 0:
                continue
            secret = self._read(SECRETS, ObjectKey(key.namespace, self._at.settings))
            if setting_of(one, secret, _MODE).lower() != "webhooks":
                found[str(key)] = names_in(setting_of(one, secret, _TARGETS))
        return found

    def _proxies(self) -> Iterator[Finding]:
        if self._deployment is None:
            return
        try:
            service = self._client.get(_SERVICES, ObjectKey("default", "kubernetes"))
        except NotFoundError:
            service = {}
        address = str(spec(service).get("clusterIP") or "")
        yield from environment_checks.of_proxies(
            self._deployment, address, self._environment
        )

    def _settings_(self) -> Iterator[Finding]:
        if self._deployment is None and self._settings is None:
            return
        name = self._place(self._at.settings)
        yield from checks.of_settings(self._settings, name)
        if self._settings is not None:
            deployment = self._place(self._at.deployment)
            yield from checks.of_restart(self._settings, self._pods, deployment)

    def _leader(self) -> Iterator[Finding]:
        if self._deployment is None and self._lease is None:
            return
        name = self._place(self._at.lease)
        yield from checks.of_lease(self._lease, name, self._clock.now())

    def _kinds(self) -> Iterator[Finding]:
        try:
            names = read_names(self._client)
        except OldServerError as old:
            yield _KINDS.error(str(old), "upgrade the cluster: no kind runs")
            return
        yield from crd_checks.of_crds(self._crds, self._catalogue, _OWN_BUILD, names)
        if self._deployment is not None:
            yield from crd_checks.of_missing_kinds(
                self._deployment, self._crds, self._catalogue
            )

    def _webhooks(self) -> Iterator[Finding]:
        serving = self._get(SECRETS, SERVING_SECRET)
        yield from webhook_checks.of_conversions(
            self._crds, self._clock.now(), serving=serving
        )
        found = {}
        for kind, plural, name in _CONFIGURATIONS:
            resource = ApiResource(_ADMISSION, "v1", plural, kind, namespaced=False)
            found[f"{kind} {name}"] = self._read(resource, ObjectKey("", name))
        yield from webhook_checks.of_admission(found, self._at.namespace)
        asked = webhook_checks.services_asked(self._crds, found.values())
        for key, what in asked.items():
            service = self._read(_SERVICES, key)
            yield from webhook_checks.of_service(key, service, what, self._deployment)
        yield from webhook_checks.of_serving_certificate(serving, self._clock.now())
        if serving is None and self._deployment is not None and not self._is_aso:
            lost = self._place(SERVING_SECRET)
            yield from webhook_checks.of_lost_certificate(
                lost, self._crds, self._deployment
            )

    def _not_ready(self) -> Iterator[Finding]:
        objects = self._objects
        unread = [*self._unlisted, *self._refused]
        yield from checks.of_objects(objects, self._clock.now(), unread)
        for refused in [*self._refused.values()][:1]:
            yield _OBJECTS.unknown(*_lack(refused))
        yield from checks.of_policies(self._objects, self._namespaces)
        for kind, why in self._unlisted.items():
            yield _OBJECTS.error(
                f"those of {kind} cannot be listed: {why}",
                "look at the findings on webhooks: its conversion may not answer",
            )
        yield from checks.of_secret_texts(self._secret_texts())

    def _secret_texts(self) -> Iterator[tuple[JsonObject, Sequence[str]]]:
        """Yield the objects whose specs hold secrets, with the paths: read in the form
        that the cluster keeps, as other versions do not show such a text.
        """
        for group_kind in dict.fromkeys(gvk_of(o).group_kind for o in self._objects):
            kind = self._catalogue.kind(group_kind)
            if not has_secrets(kind.version().table):
                continue
            for obj in self._listed(self._kept[group_kind]):
                with suppress(KindConversionError):  # its own finding says so
                    authored = as_authored(kind, obj)
                    version = kind.version(gvk_of(authored).version)
                    if texts := secret_texts(version, spec(authored)):
                        yield obj, [text.path for text in texts]

    def _rights(self) -> Iterator[Finding]:
        if self._deployment is None or self._is_aso:
            return
        words = arguments_of(self._deployment)
        asked = operator_rights(
            self._served,
            namespace=self._at.namespace,
            targets=self._targets,
            lease=self._at.lease if _has(words, "--enable-leader-election") else "",
            writes_crds=_has(words, "--crd-pattern"),
        )
        yield from of_rights(self._allowed([*asked]), self._who)

    def _credentials(self) -> Iterator[Finding]:
        if self._settings is not None:
            yield from credential_checks.of_settings_credential(
                self._settings, self._sign_in
            )
        named = {
            f"{key_of(obj).namespace}/{annotations(obj)[CREDENTIAL_FROM]}": (
                f"{obj.get('kind')} {key_of(obj)}"
            )
            for obj in self._objects
            if annotations(obj).get(CREDENTIAL_FROM)
        }
        spaces = {key_of(obj).namespace for obj in self._objects}
        workloads = set()
        for name in sorted({*named, *(f"{s}/{NAMESPACE_SECRET}" for s in spaces)}):
            namespace, _, secret = name.partition("/")
            found = self._read(SECRETS, ObjectKey(namespace, secret))
            if found is not None:
                if is_export(found):
                    notes = self._namespaces.get(namespace, {})
                    yield from credential_checks.of_export(
                        name, is_allowed=notes.get(EXPORTS_AS_CREDENTIALS) == "true"
                    )
                if credential_checks.is_workload_identity(found):
                    workloads.add(namespace)
                yield from credential_checks.of_secret(found, self._sign_in)
            elif name in named:
                yield credential_checks.of_missing(name, named)
        yield from self._workloads(workloads)

    def _workloads(self, namespaces: Iterable[str]) -> Iterator[Finding]:
        if self._deployment is None or self._is_aso:
            return
        rights = {
            name: Right(
                *("create", "", "serviceaccounts", "token"), name, SERVICE_ACCOUNT
            )
            for name in namespaces
        }
        allowed = self._allowed([*rights.values()])
        lacks = {}
        for name, right in rights.items():
            lacks[name] = "" if allowed[right] else f"the operator may not {right}"
            if self._read(SERVICE_ACCOUNTS, ObjectKey(name, SERVICE_ACCOUNT)) is None:
                lacks[name] = f"no ServiceAccount {SERVICE_ACCOUNT}"
        mode = setting_of(self._deployment, self._settings, _IDENTITY_MODE)
        yield from credential_checks.of_strict_identities(
            lacks, is_strict=mode.strip().lower() == "strict"
        )

    def _azure(self) -> Iterator[Finding]:
        if self._own_sign_in is not None:
            yield self._own_sign_in()

    @cached_property
    def _deployment(self) -> JsonObject | None:
        """The operator's Deployment; unless a namespace was given, the only one of its
        name in any namespace.
        """
        found = self._get(DEPLOYMENTS, self._at.deployment)
        if found is not None:
            return found
        named = f"metadata.name={self._at.deployment}"
        others = [*self._client.list_all(Selection(DEPLOYMENTS, field_selector=named))]
        self._elsewhere = sorted(key_of(one).namespace for one in others)
        if len(others) != 1 or self._at != Installation():
            return None
        self._at = attrs.evolve(self._at, namespace=self._elsewhere[0])
        return others[0]

    @cached_property
    def _runs_outside(self) -> bool:
        """Return whether objects show that an operator without a Deployment runs."""
        if self._deployment is not None or self._elsewhere:
            return False
        return any(find_ready(status(obj).get("conditions")) for obj in self._objects)

    @cached_property
    def _namespaces(self) -> Mapping[str, Mapping[str, str]]:
        """The annotations of the Namespaces, by name."""
        found = self._client.list_all(Selection(NAMESPACES, metadata_only=True))
        return {key_of(one).name: annotations(one) for one in found}

    @cached_property
    def _who(self) -> str:
        """The operator's user name, made from the service account in its Deployment."""
        named = dig(self._deployment or {}, "spec.template.spec.serviceAccountName")
        account = named or self._at.service_account
        return f"system:serviceaccount:{self._at.namespace}:{account}"

    @cached_property
    def _settings(self) -> JsonObject | None:
        return self._get(SECRETS, self._at.settings)

    @cached_property
    def _targets(self) -> Sequence[str]:
        """The namespaces that the operator works in; () for all."""
        deployment, settings = None, None
        with suppress(ForbiddenError):
            deployment = self._deployment
            settings = self._settings
        return names_in(setting_of(deployment, settings, _TARGETS))

    @cached_property
    def _is_aso(self) -> bool:
        images = [str(one.get("image")) for one in containers_of(self._deployment)]
        return any(
            "azureserviceoperator" in image and "asoreconcile" not in image
            for image in images
        )

    @cached_property
    def _lease(self) -> JsonObject | None:
        return self._get(LEASES, self._at.lease)

    @cached_property
    def _pods(self) -> Sequence[JsonObject]:
        if self._deployment is None:
            return []
        labels = (spec(self._deployment).get("selector") or {}).get("matchLabels") or {}
        selector = ",".join(f"{name}={value}" for name, value in labels.items())
        pods = Selection(_PODS, namespace=self._at.namespace, label_selector=selector)
        try:
            return [*self._client.list_all(pods)]
        except NotFoundError:
            return []  # an API server without nodes, such as a sandbox's

    @cached_property
    def _crds(self) -> Sequence[JsonObject]:
        return [*self._client.list_all(CUSTOM_RESOURCE_DEFINITIONS)]

    @cached_property
    def _kept(self) -> Mapping[GroupKind, KindVersion]:
        """The kinds in the form that the cluster stores."""
        try:
            return discover(self._client, self._catalogue, converts=True).versions
        except OldServerError:
            return {}  # a finding about kinds says so

    @cached_property
    def _served(self) -> Sequence[KindVersion]:
        # At a version that people write, whatever form the cluster keeps.
        return [self._catalogue.version(one.gvk) for one in self._kept.values()]

    @cached_property
    def _objects(self) -> Sequence[JsonObject]:
        found: list[JsonObject] = []
        for version in self._served:
            try:
                found += self._listed(version)
            except ForbiddenError as refused:
                self._refused[str(version.group_kind)] = refused
                if len(self._refused) == len(self._served):
                    raise
            except ApiError as failed:
                self._unlisted[str(version.group_kind)] = str(failed)
        return found

    def _listed(self, version: KindVersion) -> Iterator[JsonObject]:
        """Yield the objects of a kind in the namespaces that the operator works in."""
        for place in self._targets or ("",):
            yield from self._client.list_all(Selection(resource_of(version), place))

    def _allowed(self, asked: Sequence[Right]) -> Mapping[Right, bool]:
        """Ask the API server about the operator's rights, as an administrator may."""

        def allowed(right: Right) -> bool:
            body = {
                "spec": {"user": self._who, "resourceAttributes": right.attributes()}
            }
            review = self._client.create(_REVIEWS, body)
            return (review.get("status") or {}).get("allowed") is True

        with ThreadPoolExecutor(_ASKED_AT_ONCE) as pool:
            return dict(zip(asked, pool.map(allowed, asked), strict=True))

    def _place(self, name: str) -> str:
        return str(ObjectKey(self._at.namespace, name))

    def _get(self, resource: ApiResource, name: str) -> JsonObject | None:
        return self._read(resource, ObjectKey(self._at.namespace, name))

    def _read(self, resource: ApiResource, key: ObjectKey) -> JsonObject | None:
        try:
            return self._client.get(resource, key)
        except NotFoundError:
            return None


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
