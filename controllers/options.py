"""The options of the command line; settings come from the environment (`settings`)."""

from collections.abc import Mapping

import attrs

from asoreconcile.azure.controllers.webhooks import WebhookOptions
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.runtime.leaderelection.lease import LeaderElectionOptions
from asoreconcile.runtime.manager import GRACE_SECONDS
from asoreconcile.webhooks.serving_certificates import FileCertificates


class MetricsCertificateError(AsoreconcileError):
    """The certificate for the metrics cannot be used."""


@attrs.frozen
class Options:
    """Addresses: `:8080`, `127.0.0.1:0`; "0" is nowhere.

    secure_metrics: over HTTPS, to users whose roles allow it; metrics_certificates: the
    folder of tls.crt and tls.key for it, "" for a pair of its own making.
    leader_election: None works at once. all_versions: install CRDs that serve every
    version; webhooks must be on. crd_labels: on those that are installed. manages_crds:
    whether those that are there are brought up to date. grace_seconds: for a stop, all
    in all.
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

    @property
    def sees_to_crds(self) -> bool:
        """Whether CRDs that operators have installed are ours to end moves of, also
        where others reconcile the objects: who moved the storage version has the
        rights.
        """
        return self.manages_crds and bool(self.crd_pattern or self.webhooks.on)

    def scrape_certificates(self, clock: Clock | None) -> FileCertificates | None:
        """What the metrics are served with; None has the application make a pair, that
        nobody can verify, as ASO does. Raises MetricsCertificateError.
        """
        folder = self.metrics_certificates
        if not (self.secure_metrics and folder):
            return None
        try:
            return FileCertificates(folder, clock=clock)
        except OSError as error:
            message = f"--metrics-cert-dir {folder}: {error}"
            raise MetricsCertificateError(message) from error
