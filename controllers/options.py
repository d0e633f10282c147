"""What the command line says; settings come from the environment (`settings`)."""

import attrs

from asoreconcile.controllers.webhooks import WebhookOptions
from asoreconcile.runtime.leaderelection.lease import LeaderElectionOptions


@attrs.frozen
class Options:
    """Addresses: `:8080`, `127.0.0.1:0`; "0" is nowhere.

    secure_metrics: over HTTPS, to users whose roles allow it; metrics_certificates: the
    folder of tls.crt and tls.key for it, "" for a pair of its own making.
    leader_election: None works at once. all_versions: install CRDs that serve every
    version; webhooks must be on.
    """

    crd_pattern: str = ""
    metrics_address: str = "0"
    secure_metrics: bool = False
    metrics_certificates: str = ""
    health_address: str = "0"
    kubeconfig: str | None = None
    extension_names: tuple[str, ...] = ()
    leader_election: LeaderElectionOptions | None = None
    webhooks: WebhookOptions = attrs.field(factory=WebhookOptions)
    all_versions: bool = False
