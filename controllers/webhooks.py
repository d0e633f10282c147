"""The operator's webhooks: conversion and admission reviews of Azure kinds.

Conversion has one path for all kinds. Admission has one path for a configuration with
wildcards, and for each kind the paths of Azure Service Operator's configuration.
"""

import ssl
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.catalogue.conversion import KindConversionError, convert
from asoreconcile.azure.catalogue.kinds import (
    Catalogue,
    KindVersion,
    NotInCatalogueError,
)
from asoreconcile.azure.catalogue.problems import Problem
from asoreconcile.azure.catalogue.webhook_manifests import (
    CONVERT_PATH,
    MUTATE_PATH,
    MUTATING_NAME,
    VALIDATE_PATH,
    VALIDATING_NAME,
    WebhookClient,
)
from asoreconcile.azure.controllers.admission import (
    Admission,
    WriterCheck,
    any_writer,
)
from asoreconcile.azure.controllers.crd_plan import called
from asoreconcile.azure.controllers.live_objects import LiveObjects, as_reviewed
from asoreconcile.azure.expressions.api import Expressions
from asoreconcile.azure.expressions.process import EngineMissingError
from asoreconcile.azure.reconcile.model.export_targets import (
    CONFIG_MAP_EXPRESSIONS,
    SECRET_EXPRESSIONS,
)
from asoreconcile.azure.reconcile.model.owner import Objects, resolve_owner
from asoreconcile.base.errors import AsoreconcileError, RetryError
from asoreconcile.base.fair_share import EngineBusyError
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    annotations,
    dig,
    gvk_of,
    key_of,
    metadata,
)
from asoreconcile.base.tls import fingerprints
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import ApiError, TransportError
from asoreconcile.kube.resources import NAMESPACES
from asoreconcile.runtime.application import Application
from asoreconcile.runtime.health import DEGRADED_AFTER_SECONDS, CheckResult
from asoreconcile.serving.listener import OFF
from asoreconcile.webhooks.ca_bundles import WebhookTarget
from asoreconcile.webhooks.conversion import Convert
from asoreconcile.webhooks.managed import ManagedCertificates
from asoreconcile.webhooks.server import webhook_path
from asoreconcile.webhooks.serving_certificates import LEAST_TLS, FileCertificates

if TYPE_CHECKING:
    from asoreconcile.azure.controllers.deletion_guard import DeletionGuard

# The reconciler applies the rules of the admission webhooks too: an installation may do
# without them.
_CONFIGURATIONS = (
    WebhookTarget.mutating(MUTATING_NAME, required=False),
    WebhookTarget.validating(VALIDATING_NAME, required=False),
)


# No Namespace can have this name.
_REVIEWS = ".reviews"


class WebhookOptionsError(AsoreconcileError):
    """Webhooks cannot be served with these options."""


@attrs.frozen
class WebhookOptions:
    """The command line's options for webhooks.

    address: `:9443`; "0" serves none.
    cert_dir: the folder with tls.crt and tls.key, and with ca.crt if the certificate is
    not self-signed. If None, the operator creates a certificate, keeps it in a Secret,
    and writes the caBundle that the API server trusts.
    service: `namespace/name` of the Service in front of the port.
    url: address for the API server in place of the Service, `https://host:port`.
    least_tls: clients with an older version of TLS are refused.
    client_authority: argument of `WebhookServer`.

    Raises WebhookOptionsError if webhooks are served and neither of the two is valid.
    """

    address: str = "0"
    cert_dir: Path | None = None
    service: str = ""
    url: str = ""
    least_tls: ssl.TLSVersion = LEAST_TLS
    client_authority: Path | None = None

    def __attrs_post_init__(self) -> None:
        if not self.on:
            return
        if self.url:
            if not _is_https(self.url):
                raise WebhookOptionsError(
                    f"the webhooks' URL {self.url!r} is not of the form"
                    " https://HOST:PORT"
                )
        elif not all(self.service.partition("/")):
            raise WebhookOptionsError(
                f"the webhooks' Service {self.service!r} is not of the form"
                " NAMESPACE/NAME"
            )

    @property
    def on(self) -> bool:
        """True if webhooks are served."""
        return self.address not in OFF

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names by which the API server calls the webhooks."""
        if self.url:
            return (urlsplit(self.url).hostname or "",)
        namespace, _, name = self.service.partition("/")
        return (f"{name}.{namespace}.svc", f"{name}.{namespace}.svc.cluster.local")

    def client(self) -> WebhookClient:
        """Return the webhooks' address for the API server. Raises
        WebhookOptionsError.
        """
        bundle = b64encode(self._authority()).decode()
        if self.url:
            return WebhookClient(url=self.url, ca_bundle=bundle)
        namespace, _, name = self.service.partition("/")
        return WebhookClient(namespace=namespace, name=name, ca_bundle=bundle)

    def _authority(self) -> bytes:
        """Return the CA; empty if `ManagedCertificates` writes it later."""
        folder = self.cert_dir
        if folder is None:
            return b""
        try:
            authority = folder / "ca.crt"
            return (
                authority if authority.exists() else folder / "tls.crt"
            ).read_bytes()
        except OSError as error:
            raise WebhookOptionsError(f"no certificate in {folder}: {error}") from error


def _is_https(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme == "https" and bool(parts.hostname)


class MountedTrust:
    """Readiness: each CRD that calls this server trusts the mounted certificate.

    Without this check two replicas with certificates of two authorities would both be
    ready, and every second call would fail. The check never fails after this process
    was ready once, and not for long on the leader, because no other process would write
    the CRDs.
    """

    def __init__(
        self,
        options: WebhookOptions,
        distrusting: Callable[[tuple[str, ...], Collection[str]], str],
        app: Application,
    ) -> None:
        """options: with a folder of certificates. distrusting: see `Definitions`."""
        self._options = options
        self._distrusting = distrusting
        self._app = app
        self._degraded_at = app.clock.monotonic() + DEGRADED_AFTER_SECONDS

    def __call__(self) -> CheckResult:
        app, client = self._app, self._options.client()
        hook = {"webhook": {"clientConfig": client.config(CONVERT_PATH)}}
        own = fingerprints(b64decode(client.ca_bundle))
        crd = self._distrusting(called({"spec": {"conversion": hook}}), own)
        if not crd:
            return CheckResult(ok=True)
        degraded = app.leads and app.clock.monotonic() >= self._degraded_at
        why = f"{crd}: its caBundle lacks the authority of {self._options.cert_dir}"
        return CheckResult(ok=degraded or app.readyz.have_passed, details=(why,))


def certificates(
    app: Application,
    options: WebhookOptions,
    *,
    secret: ObjectKey,
    targets: Callable[[], Iterable[WebhookTarget]],
) -> FileCertificates | ManagedCertificates:
    """Return the server's certificates. Raises WebhookOptionsError for unusable files.

    secret, targets: see `ManagedCertificates`; the leader writes.
    """
    folder = options.cert_dir
    if folder is None:
        return ManagedCertificates(
            app.client,
            secret,
            options.hosts,
            clock=app.clock,
            url=options.url,
            targets=targets,
            may_write=lambda: app.leads,
            metrics=app.webhook_metrics,
            threads=app.threads,
            least_tls=options.least_tls,
        )
    try:
        return FileCertificates(
            folder,
            clock=app.clock,
            metrics=app.webhook_metrics,
            least_tls=options.least_tls,
        )
    except OSError as error:
        raise WebhookOptionsError(
            f"cannot use the certificate in {folder}: {error}"
        ) from error


class Webhooks:
    """The application's webhook server, with the functions for our kinds."""

    def __init__(
        self,
        app: Application,
        options: WebhookOptions,
        catalogue: Catalogue,
        *,
        secret: ObjectKey,
        crds: Callable[[], Iterable[WebhookTarget]],
        expressions: Expressions,
        guard: "DeletionGuard",
        owners: Objects,
        checks_writers: bool = False,
    ) -> None:
        """secret: keeps the generated certificate.
        crds: returns the CRDs whose objects are converted here.
        expressions: checks the expressions of exports.
        guard: refuses the deletion of protected objects. owners: finds owners.
        checks_writers: whether a writer must be allowed to get the Secrets that a spec
        names; checked here only if API servers show a certificate.

        Does not listen yet. Raises ListenError, WebhookOptionsError.
        """
        self.certificates = certificates(
            app, options, secret=secret, targets=lambda: (*_CONFIGURATIONS, *crds())
        )
        authority = options.client_authority
        try:
            self.server = app.webhooks(
                options.address,
                certificates=self.certificates,
                client_authority=authority,
            )
        except OSError as error:
            raise WebhookOptionsError(
                f"cannot use the client authority {authority}: {error}"
            ) from error
        self._catalogue = catalogue
        self._admission = Admission(
            catalogue,
            partial(expression_problems, expressions),
            cluster_checks=[partial(reach_problems, app.client)],
            refuse_deletion=guard.why_refused,
            owner_id=partial(owner_id_of, owners),
            live=as_reviewed if authority else LiveObjects(app.client, catalogue),
            check_writer=_writer_check(app, asks=bool(authority and checks_writers)),
        )
        self.asks_for_certificates = authority is not None
        self._answered: set[str] = set()
        self.server.convert(CONVERT_PATH, converter(catalogue))
        self.server.validate(VALIDATE_PATH, self._admission.validate)
        self.server.mutate(MUTATE_PATH, self._admission.mutate)
        # The process that becomes the leader writes the caBundle of the CRDs.
        app.when_leading("webhook targets", self.changed)

    def changed(self) -> None:
        """Write the caBundle of CRDs that were added or changed."""
        if isinstance(self.certificates, ManagedCertificates):
            self.certificates.refresh()

    def admit(self, group_kind: GroupKind) -> None:
        """Serve reviews also at the paths of all versions of a kind. Call it once for
        each kind.
        """
        kind = self._catalogue.kind(group_kind)
        for name in kind.versions:
            gvk = kind.gvk(name)
            path = webhook_path("validate", gvk)
            if path not in self._answered:
                self._answered.add(path)
                self.server.validate(path, self._admission.validate)
                self.server.mutate(webhook_path("mutate", gvk), self._admission.mutate)


def _writer_check(app: Application, *, asks: bool) -> WriterCheck:
    if not asks:
        return any_writer
    from asoreconcile.azure.controllers.secret_access import WriterAccess
    from asoreconcile.runtime.metrics_authorization import AccessReviews

    return WriterAccess(AccessReviews(app.client, clock=app.clock))


def owner_id_of(owners: Objects, version: KindVersion, obj: JsonObject) -> str:
    """Return the ARM id of an object's owner; "" if it is not known now."""
    try:
        owner = resolve_owner(version, obj, owners)
    except (ConditionError, RetryError):
        return ""
    return "" if owner is None else owner.arm_id


def expression_problems(
    expressions: Expressions, version: KindVersion, obj: JsonObject
) -> list[Problem]:
    """Return the problems of an object's export expressions, without evaluating them.

    All reviews together have one share of the engine, and none of their namespaces'
    shares: anyone can send a review that names a namespace. If the share is used up,
    the object is allowed: the reconciler checks its expressions later.
    """
    given = dig(obj, "spec.operatorSpec")
    if not isinstance(given, dict):
        return []
    if not (given.get(SECRET_EXPRESSIONS) or given.get(CONFIG_MAP_EXPRESSIONS)):
        return []
    from asoreconcile.azure.reconcile.exports.export_expressions import (
        ExportExpressions,
    )

    charged = {**obj, "metadata": {**metadata(obj), "namespace": _REVIEWS}}
    try:
        return ExportExpressions(expressions, version, charged).problems()
    except EngineMissingError as error:
        return [Problem("spec.operatorSpec", str(error))]
    except EngineBusyError:
        return []


def reach_problems(
    reader: KubeClient, version: KindVersion, obj: JsonObject
) -> list[Problem]:
    """Return the problem of an object whose Namespace may not write its resource.

    So its author sees the refusal at once, at an update, and at a creation if API
    servers show a certificate; the reconciler refuses in any case. The
    scope is checked here only if the owner is an ARM id, and nothing is checked if the
    Namespace cannot be read. Blocks for one read of the Namespace, and one of all
    grants.
    """
    from asoreconcile.azure.controllers.reference_grants import may_be_granted
    from asoreconcile.azure.reconcile.model.reach import why_out_of_reach

    namespace = key_of(obj).namespace
    if not version.is_arm or not namespace:
        return []
    try:
        live = reader.get(NAMESPACES, ObjectKey("", namespace))
        why = why_out_of_reach(
            str(dig(obj, "spec.owner.armId") or ""),
            version.arm_type,
            annotations(live),
            # The reconciler knows which resources a grant is about.
            partial(may_be_granted, reader, version.group_kind, namespace),
        )
    except (ApiError, TransportError):
        return []
    return [Problem("metadata.namespace", why)] if why else []


def converter(catalogue: Catalogue) -> Convert:
    """Return a function that converts objects of every kind of a catalogue. Pure; any
    thread.

    One object that cannot be converted would make lists of its kind fail. So an entry
    of a property bag that cannot be read is carried along; the operator reports it in
    the object's Ready condition. The function raises KindConversionError for an unknown
    object, version or kind.
    """

    def converted(obj: JsonObject, desired: str) -> JsonObject:
        gvk = gvk_of(obj)
        group, _, version = desired.rpartition("/")
        if group != gvk.group:
            raise KindConversionError(f"{desired} is of another group than {gvk.group}")
        try:
            kind = catalogue.kind(gvk.group_kind)
        except NotInCatalogueError as error:
            raise KindConversionError(str(error)) from error
        return convert(kind, obj, version, lenient=True)

    return converted
