"""Where the metrics are served: to everyone on a port, or to whom the cluster lets.

Secured, the answers go over HTTPS, and the API server is asked who may have them. Its
client is one of its own: a replica that does not lead is scraped as well, and must
write nothing else.
"""

import ssl
from collections.abc import Callable

from prometheus_client import CollectorRegistry

from asoreconcile.certificates import Authority
from asoreconcile.clock import Clock
from asoreconcile.errors import AsoError
from asoreconcile.kube.client import KubeClient
from asoreconcile.runtime.endpoints import Endpoints
from asoreconcile.runtime.scrapers import Scrapers
from asoreconcile.webhooks.certificates import (
    FileCertificates,
    load_pem,
    server_context,
)

_SELF_SIGNED_DAYS = 3650.0


class MetricsCertificateError(AsoError):
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
    return Endpoints(
        address,
        registry=registry,
        guard=Scrapers(client, clock=clock).refusal,
        tls=_from_files(folder) if folder else _self_signed(clock),
    )


def _from_files(folder: str) -> Callable[[], ssl.SSLContext]:
    try:
        return FileCertificates(folder).context
    except OSError as error:
        message = f"--metrics-cert-dir {folder}: {error}"
        raise MetricsCertificateError(message) from error


def _self_signed(clock: Clock) -> Callable[[], ssl.SSLContext]:
    now = clock.now()
    authority = Authority.make("asoreconcile metrics", now=now, days=_SELF_SIGNED_DAYS)
    context = server_context()
    pair = authority.issue(["localhost"], now=now, days=_SELF_SIGNED_DAYS)
    load_pem(context, *pair)
    return lambda: context
