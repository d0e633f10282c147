"""Which cluster to talk to, and as whom: kubeconfig or the pod's service account.

The `kubernetes` package reads the configuration and runs its auth plug-ins (exec,
OIDC, cloud providers); it is imported here alone, on use, for it costs 0.2 s. Order:
argument, KUBECONFIG, service account, ~/.kube/config. Rule: CL-7.
"""

import os
import ssl
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import attrs

from asoreconcile.errors import AsoError


class KubeConfigError(AsoError):
    """No usable cluster configuration; the message says where it was looked for."""


@attrs.frozen
class ClusterConfig:
    """An API server and a way in.

    url: `https://host:port[/prefix]`. ssl_context: None for plain HTTP.
    authorization: the present `Authorization` header value, or "". Called for each
    request: tokens rotate. It may read a file or run a plug-in, so it may block.
    namespace: the configuration's default namespace.
    """

    url: str
    ssl_context: ssl.SSLContext | None = attrs.field(repr=False)
    authorization: Callable[[], str] = attrs.field(repr=False)
    server_name: str | None = None
    namespace: str = "default"


def load(kubeconfig: str | None = None) -> ClusterConfig:
    """Read the configuration. Raises KubeConfigError; may run an auth plug-in."""
    from kubernetes import client, config

    configuration = client.Configuration()
    # Proxies and CA bundles of the environment are for Azure, not for the cluster.
    configuration.proxy = None
    path = kubeconfig or os.environ.get("KUBECONFIG")
    try:
        if path is None and os.environ.get("KUBERNETES_SERVICE_HOST"):
            config.load_incluster_config(  # type: ignore[no-untyped-call]
                client_configuration=configuration
            )
        else:
            config.load_kube_config(  # type: ignore[no-untyped-call]
                config_file=path, client_configuration=configuration
            )
    except (config.ConfigException, OSError, ValueError) as error:
        raise KubeConfigError(_where(path, error)) from error
    return _cluster(configuration)


def _where(path: str | None, error: Exception) -> str:
    looked = path or "~/.kube/config"
    return (
        f"no cluster configuration in {looked} ({error}): set KUBECONFIG, or run in a "
        "cluster"
    )


def _cluster(configuration: Any) -> ClusterConfig:
    url = str(configuration.host).rstrip("/")
    return ClusterConfig(
        url=url,
        ssl_context=_ssl_context(configuration) if _is_https(url) else None,
        authorization=_authorization(configuration),
        server_name=getattr(configuration, "tls_server_name", None),
    )


def _is_https(url: str) -> bool:
    return urlsplit(url).scheme == "https"


def _ssl_context(configuration: Any) -> ssl.SSLContext:
    """One context for the process: each own one costs 0.8 MB."""
    ca_file = configuration.ssl_ca_cert
    try:
        context = ssl.create_default_context(cafile=ca_file or None)
        if configuration.cert_file:
            context.load_cert_chain(configuration.cert_file, configuration.key_file)
    except (OSError, ssl.SSLError) as error:
        raise KubeConfigError(f"the cluster's certificates: {error}") from error
    if not configuration.verify_ssl:
        # The kubeconfig says insecure-skip-tls-verify: its owner's decision.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _authorization(configuration: Any) -> Callable[[], str]:
    if configuration.username:
        basic = str(configuration.get_basic_auth_token())
        return lambda: basic

    lock = threading.Lock()

    def current() -> str:
        # The package refreshes file tokens and plug-in tokens when they are due; its
        # hooks change the configuration in place, so one thread at a time.
        with lock:
            value = configuration.get_api_key_with_prefix(
                "authorization", alias="BearerToken"
            )
        return str(value or "")

    return current
