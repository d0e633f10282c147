"""Kubeconfig files, as the `kubernetes` package reads them and runs their plug-ins.

Only `config.load` imports this, and only where there is no service account: the package
brings pydantic and oauthlib along. Two things are ours: a `tokenFile` is read again as
it rotates (the package reads it once), and so are certificate files.
"""

import threading
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import attrs
from kubernetes import client
from kubernetes.config import kube_config

from asoreconcile.clock import Clock
from asoreconcile.kube.certificates import Certificates
from asoreconcile.kube.cluster import ClusterConfig, KubeConfigError
from asoreconcile.kube.tokens import TokenFile
from asoreconcile.objects import JsonObject

DEFAULT = "~/.kube/config"


def load(paths: str, *, clock: Clock) -> ClusterConfig:
    """The current context of one or several files. Raises KubeConfigError.

    paths: one path, or several with `:` between; where two name the same thing, the
    first wins.
    """
    try:
        return _load(paths, clock=clock)
    except Exception as error:  # noqa: BLE001 - malformed files fail it in any way
        raise KubeConfigError(
            f"no cluster configuration in {paths} ({_reason(error)}): set KUBECONFIG, "
            "or run in a cluster"
        ) from None  # see _reason


def _reason(error: Exception) -> str:
    """What is wrong, without the entry it is wrong in.

    The package's messages quote whole entries, tokens and keys included.
    """
    text = str(error).partition("{")[0].rstrip("/ ")
    return text or type(error).__name__


def _load(paths: str, *, clock: Clock) -> ClusterConfig:
    configuration = _without_proxy()
    kube_config.load_kube_config(  # type: ignore[no-untyped-call]
        config_file=paths, client_configuration=configuration
    )
    context, user, folder = _current(paths)
    url = str(configuration.host).rstrip("/")
    secure = urlsplit(url).scheme == "https"
    certificates = _certificates(configuration) if secure else None
    config = ClusterConfig(
        url=url,
        ssl_context=None,
        authorization=_authorization(configuration),
        server_name=configuration.tls_server_name,
        namespace=str(context.get("namespace") or "default"),
        proxy_url=configuration.proxy or "",
    )
    if certificates is not None:
        config = attrs.evolve(
            config,
            ssl_context=certificates.context,
            refresh_certificates=certificates.refresh,
        )
    if name := user.get("tokenFile"):
        token = TokenFile(folder / name, clock=clock)
        config = attrs.evolve(
            config, authorization=token.authorization, renew=token.renew
        )
    return config


def _without_proxy() -> client.Configuration:
    """A configuration that asks for no proxy, whatever the environment says."""
    configuration = client.Configuration()
    configuration.proxy = None
    return configuration


def _current(paths: str) -> tuple[JsonObject, JsonObject, Path]:
    """The current context, its user, and the folder that the user's paths start at."""
    merged = kube_config.KubeConfigMerger(paths).config  # type: ignore[no-untyped-call]
    _, active = kube_config.list_kube_config_contexts(paths)  # type: ignore[no-untyped-call]
    context = active["context"]
    users = merged["users"]
    found = users.get_with_name(context.get("user"), safe=True)
    if found is None:
        return context, {}, Path()
    return context, found.value.get("user") or {}, Path(found.path).absolute().parent


def _certificates(configuration: client.Configuration) -> Certificates:
    pair = None
    if configuration.cert_file:
        pair = (configuration.cert_file, configuration.key_file)
    return Certificates(
        authority=configuration.ssl_ca_cert or None,
        pair=pair,
        # insecure-skip-tls-verify in the file: its owner's decision
        verify=bool(configuration.verify_ssl),
    )


def _authorization(configuration: client.Configuration) -> Callable[[], str]:
    lock = threading.Lock()

    def current() -> str:
        # The package renews plug-in tokens when they are due; its hooks change the
        # configuration in place, so one thread at a time.
        with lock:
            value = configuration.get_api_key_with_prefix(
                "authorization", alias="BearerToken"
            )
        return str(value or "")

    return current
