"""Kubeconfig files, as the `kubernetes` package reads them.

Only `config.load` imports this, and only where there is no service account: the package
brings pydantic and oauthlib along. What changes while the client runs is ours: token
files and certificate files as they rotate, and plug-ins (`exec`, `auth-provider`) that
the package runs without a limit and renews by the clock alone. So is impersonation,
which it ignores.
"""

import base64
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote, urlsplit

import attrs
from kubernetes import client
from kubernetes.config import kube_config
from kubernetes.config.kube_config import ConfigNode

from asoreconcile.clock import Clock
from asoreconcile.kube.certificates import ClientCertificates
from asoreconcile.kube.cluster import ClusterConfig, KubeConfigError
from asoreconcile.kube.errors import KubeCredentialError
from asoreconcile.kube.plugin import Credential, plugin
from asoreconcile.kube.plugincredential import PluginCredential
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
    merged = kube_config.KubeConfigMerger(paths)  # type: ignore[no-untyped-call]
    if merged.config is None:
        raise KubeConfigError("no such file")
    # Proxies of the environment are for other hosts; the cluster's is in the file.
    configuration = _without_proxy()
    loader = _Loader(  # type: ignore[no-untyped-call]
        merged.config, config_base_path=None, config_persister=merged.save_changes
    )
    loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
    context, user, cluster = _current(merged.config)
    url = str(configuration.host).rstrip("/")
    secure = urlsplit(url).scheme == "https"
    certificates = _certificates(configuration, loader.inline) if secure else None
    config = ClusterConfig(
        url=url,
        ssl_context=None,
        authorization=partial(str, _header(configuration)),
        server_name=configuration.tls_server_name,
        namespace=str(context.value.get("namespace") or "default"),
        proxy_url=configuration.proxy or "",
        impersonation=impersonation(user.value),
    )
    if certificates is not None:
        config = attrs.evolve(
            config,
            ssl_context=certificates.context,
            refresh_certificates=certificates.refresh,
            renew=certificates.renew,
            generation=lambda: certificates.generation,
        )
    # Read by us and not by the package, because it rotates.
    if name := user.value.get("tokenFile"):
        token = TokenFile(user.folder / name, clock=clock)
        return attrs.evolve(
            config, authorization=token.authorization, renew=token.renew
        )
    if run := _run(user, cluster, partial(_provided, loader, configuration)):
        return _with_plugin(config, run, clock=clock)
    return config


def _run(
    user: "_Entry", cluster: "_Entry", provided: Callable[[], Credential]
) -> Callable[[], Credential] | None:
    """What makes the user's credential. A token goes before it, as with kubectl."""
    if user.value.get("auth-provider"):
        return provided
    entry = user.value.get("exec")
    if not entry or user.value.get("token"):
        return None
    folders = {"folder": user.folder, "cluster_folder": cluster.folder}
    return plugin(entry, cluster.value, **folders).run


def _with_plugin(
    config: ClusterConfig, run: Callable[[], Credential], *, clock: Clock
) -> ClusterConfig:
    renewed = PluginCredential(run, clock=clock, context=config.ssl_context)
    of_files = config.generation
    return attrs.evolve(
        config,
        authorization=renewed.authorization,
        renew=renewed.renew,
        generation=lambda: of_files() + renewed.generation,
    )


def _provided(loader: "_Loader", configuration: client.Configuration) -> Credential:
    """What the package's own plug-in says, once more. Raises CredentialError."""
    try:
        loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
    except Exception as error:  # noqa: BLE001 - of whatever it asks a provider with
        raise KubeCredentialError(f"auth-provider: {_reason(error)}") from None
    _, _, token = _header(configuration).partition(" ")
    return Credential(token=token, expires=getattr(loader, "expiry", None))


class _Loader(kube_config.KubeConfigLoader):
    """The package's, but for two things.

    `exec`: it would wait for a program for ever. And what is in the file itself,
    keys too: it would write that into temporary files, which a killed process leaves.
    """

    inline: Mapping[str, bytes] = MappingProxyType({})
    """Member (`client-key`, ...) -> PEM that the file itself holds."""

    def _load_from_exec_plugin(self) -> None:
        """`_run` does."""

    def _load_cluster_info(self) -> None:
        inline: dict[str, bytes] = {}
        # Not changed in place: the package may write back what it has read.
        self._cluster = _without_data(self._cluster, inline)
        self._user = _without_data(self._user, inline)
        self.inline = {**self.inline, **inline}
        super()._load_cluster_info()  # type: ignore[no-untyped-call]


def _without_data(
    entry: ConfigNode | None, inline: dict[str, bytes]
) -> ConfigNode | None:
    """The entry without PEM of its own, and without the files that this goes before."""
    if not entry:
        return entry
    kept = dict(entry.value)
    for member in ("certificate-authority", "client-certificate", "client-key"):
        if f"{member}-data" in kept:
            text = str(kept.pop(f"{member}-data") or "")
            kept.pop(member, None)
            if text:
                inline[member] = base64.standard_b64decode(text)
    return ConfigNode(entry.name, kept, entry.path)  # type: ignore[no-untyped-call]


@attrs.frozen
class _Entry:
    """A context, user or cluster, and the folder that its paths start at."""

    value: JsonObject = attrs.field(factory=dict, repr=False)
    folder: Path = Path()


def _without_proxy() -> client.Configuration:
    """A configuration that asks for no proxy, whatever the environment says."""
    configuration = client.Configuration()
    configuration.proxy = None
    return configuration


def _current(config: ConfigNode) -> tuple[_Entry, _Entry, _Entry]:
    """The current context, its user and its cluster."""
    context = _entry(config, "context", str(config["current-context"]))
    user = str(context.value.get("user") or "")
    cluster = str(context.value.get("cluster") or "")
    return context, _entry(config, "user", user), _entry(config, "cluster", cluster)


def _entry(config: ConfigNode, kind: str, name: str) -> _Entry:
    entries = config.safe_get(f"{kind}s")  # type: ignore[no-untyped-call]
    found = entries and config[f"{kind}s"].get_with_name(name, safe=True)
    if not found:
        return _Entry()
    return _Entry(found.value.get(kind) or {}, Path(found.path).absolute().parent)


def impersonation(user: JsonObject) -> tuple[tuple[str, str], ...]:
    """The impersonation headers of a user. Raises KubeConfigError."""
    name = str(user.get("as") or "")
    groups, extra = user.get("as-groups") or (), user.get("as-user-extra") or {}
    uid = str(user.get("as-uid") or "")
    if not name:
        if groups or extra or uid:
            raise KubeConfigError("as-groups, as-uid or as-user-extra without as")
        return ()
    headers = [("Impersonate-User", name)]
    headers += [("Impersonate-Uid", uid)] if uid else []
    headers += [("Impersonate-Group", str(group)) for group in groups]
    for key, values in extra.items():
        header = f"Impersonate-Extra-{quote(str(key).lower(), safe='')}"
        headers += [(header, str(value)) for value in values]
    return tuple(headers)


def _certificates(
    configuration: client.Configuration, inline: Mapping[str, bytes]
) -> ClientCertificates:
    def pem(member: str, file: str | None) -> Path | bytes | None:
        return inline.get(member) or (Path(file) if file else None)

    certificate = pem("client-certificate", configuration.cert_file)
    key = pem("client-key", configuration.key_file)
    return ClientCertificates(
        authority=pem("certificate-authority", configuration.ssl_ca_cert),
        pair=None if certificate is None else (certificate, key),
        # insecure-skip-tls-verify in the file: its owner's decision
        verify=bool(configuration.verify_ssl),
    )


def _header(configuration: client.Configuration) -> str:
    """The `Authorization` header that the package has loaded, or ""."""
    configuration.refresh_api_key_hook = None  # it would run plug-ins
    value = configuration.get_api_key_with_prefix("authorization", alias="BearerToken")
    return str(value or "")
