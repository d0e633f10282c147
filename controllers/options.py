"""The options of the command line; settings come from the environment (`settings`)."""

from collections.abc import Mapping

import attrs

from asoreconcile.azure.controllers.webhooks import WebhookOptions
from asoreconcile.base.clock import Clock, SystemClock
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.runtime.leaderelection.lease import LeaderElectionOptions
from asoreconcile.runtime.manager import GRACE_SECONDS
from asoreconcile.serving.listener import OFF
from asoreconcile.webhooks.serving_certificates import (
    FileCertificates,
    SelfSignedCertificate,
    ServingCertificates,
)


class MetricsCertificateError(AsoreconcileError):
    """The certificate for the metrics cannot be used."""


@attrs.frozen
class Options:
    """The options. Addresses are like `:8080`, `127.0.0.1:0`; "0" does not listen.

    crd_labels: labels for installed CRDs.
    manages_crds: whether existing CRDs are updated.
    secure_metrics: if true, metrics are served over HTTPS, to users whose roles allow
    it.
    metrics_certificates: the folder of tls.crt and tls.key for that, "" for a generated
    pair.
    leader_election: None works without election.
    all_versions: install CRDs that serve every version; requires webhooks.
    grace_seconds: longest time of the whole stop. drain_seconds: time for which
    webhooks are answered after a stop was requested.
    """

    crd_pattern: str = ""
    crd_labels: Mapping[str, str] = attrs.field(factory=dict)
    manages_crds: bool = True
    metrics_address: str = "0"
    secure_metrics: bool = False
    metrics_certificates: str = ""
    health_address: str = "0"
    kubeconfig: str | None = None
    extension_names: tuple[str, ...] = ()
    leader_election: LeaderElectionOptions | None = None
    webhooks: WebhookOptions = attrs.field(factory=WebhookOptions)
    all_versions: bool = False
    grace_seconds: float = GRACE_SECONDS
    drain_seconds: float = 0.0

    @property
    def sees_to_crds(self) -> bool:
        """True if this process finishes moves of the storage version of operators'
        CRDs.

        This also applies if other processes reconcile the objects: the process that
        moved the storage version has the rights.
        """
        return self.manages_crds and bool(self.crd_pattern or self.webhooks.on)

    def scrape_certificates(self, clock: Clock | None) -> ServingCertificates | None:
        """Return the certificate of the metrics endpoint; None if none is needed.

        Without a folder one is generated, as ASO does.

        Clients cannot verify a generated certificate. Raises MetricsCertificateError.
        """
        folder = self.metrics_certificates
        if not self.secure_metrics:
            return None
        least = self.webhooks.least_tls
        if not folder:
            if self.metrics_address in OFF:
                return None
            clock = clock or SystemClock()
            return SelfSignedCertificate("asoreconcile", clock=clock, least_tls=least)
        try:
            return FileCertificates(folder, clock=clock, least_tls=least)
        except OSError as error:
            message = f"--metrics-cert-dir {folder}: {error}"
            raise MetricsCertificateError(message) from error
