"""Where the metrics are served: to everyone on a port, or to users with the role.

Secured, the answers go over HTTPS, and the API server decides which users get them. Its
client is one of its own: a replica that does not lead is scraped as well, and must
write nothing else.
"""

import ssl
from collections.abc import Callable

from prometheus_client import CollectorRegistry

from asoreconcile.clock import Clock
from asoreconcile.errors import AsoreconcileError
from asoreconcile.kube.client import KubeClient
from asoreconcile.runtime.endpoints import Access, Endpoints
from asoreconcile.runtime.metrics_authorization import MetricsAuthorizationFilter
from asoreconcile.webhooks.certificates import FileCertificates, SelfSignedCertificate


class MetricsCertificateError(AsoreconcileError):
    """The certificate for the metrics cannot be used."""


def secured(
    address: str,
    registry: CollectorRegistry,
    *,
    client: KubeClient,
    clock: Clock,
    folder: str,
) -> Endpoints:
    """The endpoint of `--secure-metrics`.

    folder: of tls.crt and tls.key, looked at again as they change; "" makes a pair that
    nobody can verify, as ASO does. Raises MetricsCertificateError.
    """
    if folder:
        tls = _from_files(folder, clock)
    else:
        tls = SelfSignedCertificate("asoreconcile metrics", clock=clock).context
    return Endpoints(
        address,
        registry=registry,
        access=Access(tls, MetricsAuthorizationFilter(client, clock=clock).refusal),
    )


def _from_files(folder: str, clock: Clock) -> Callable[[], ssl.SSLContext]:
    try:
        return FileCertificates(folder, clock=clock).context
    except OSError as error:
        message = f"--metrics-cert-dir {folder}: {error}"
        raise MetricsCertificateError(message) from error
