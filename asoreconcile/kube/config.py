"""Reads the cluster and its credentials from a kubeconfig or the pod's service account.

Order of search: argument, KUBECONFIG, service account, ~/.kube/config. In a pod two
files and two variables are enough, and are read here; only a kubeconfig with an
`auth-provider` loads the `kubernetes` package (0.2 s, 15 MB). Proxies and CA bundles of
the environment (HTTPS_PROXY, REQUESTS_CA_BUNDLE, SSL_CERT_FILE) are for other hosts,
not for the cluster. Rule: CL-7.
"""

import os
from pathlib import Path

from asoreconcile.base.clock import Clock, SystemClock
from asoreconcile.kube.client_certificates import ClientCertificates
from asoreconcile.kube.cluster import ClusterConfig, KubeConfigError
from asoreconcile.kube.token_file import TokenFile

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def load(
    kubeconfig: str | None = None,
    *,
    context: str = "",
    clock: Clock | None = None,
    service_account: Path = SERVICE_ACCOUNT,
) -> ClusterConfig:
    """Read the configuration. Raises KubeConfigError; may run an auth plug-in.

    kubeconfig: a path, or several as in KUBECONFIG. context: the name of a context in
    them; if empty, the current one. service_account: the folder of a pod's token, which
    counts if neither kubeconfig, context nor KUBECONFIG is given.
    """
    clock = clock or SystemClock()
    path = kubeconfig or os.environ.get("KUBECONFIG")
    if not path and not context and _in_cluster(service_account):
        return in_cluster(service_account, clock=clock)
    from asoreconcile.kube import kubeconfig as files

    return files.load(path or files.DEFAULT, clock=clock, context=context)


def in_cluster(
    service_account: Path = SERVICE_ACCOUNT, *, clock: Clock
) -> ClusterConfig:
    """Return the configuration from the service account. Raises KubeConfigError."""
    host = os.environ.get("KUBERNETES_SERVICE_HOST", "")
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise KubeConfigError(
            "not in a cluster: KUBERNETES_SERVICE_HOST or _PORT is not set"
        )
    try:
        token = TokenFile(service_account / "token", clock=clock)
        certificates = ClientCertificates(authority=service_account / "ca.crt")
        namespace = _namespace(service_account / "namespace")
    except (OSError, ValueError) as error:
        raise KubeConfigError(f"the pod's service account: {error}") from error
    return ClusterConfig(
        url=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        trust=certificates.trust,
        authorization=token.authorization,
        renew=token.renew,
        namespace=namespace,
        user="the pod's service account",
    )


def _in_cluster(service_account: Path) -> bool:
    """Return whether there is a service account. A pod may have a kubeconfig instead.

    Existing but broken files are an error, not a reason to try the next source.
    """
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST")) and service_account.is_dir()


def _namespace(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip() or "default"
    except FileNotFoundError:
        return "default"  # set in every pod
