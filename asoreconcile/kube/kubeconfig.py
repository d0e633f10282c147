"""Kubeconfig files: merges several as kubectl does, and reads the current context.

This project itself handles what changes while the client runs: rotated token and
certificate files, and plug-ins (`exec`, `auth-provider`). Only an `auth-provider` loads
the `kubernetes` package, which brings pydantic and oauthlib along (`auth_provider`).
No message quotes an entry, as entries contain keys and tokens.
"""

import base64
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import attrs
import yaml

from asoreconcile.base import extras
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import JsonObject
from asoreconcile.kube.client_certificates import ClientCertificates
from asoreconcile.kube.cluster import ClusterConfig, KubeConfigError
from asoreconcile.kube.exec_authenticator import ExecAuthenticator
from asoreconcile.kube.exec_plugin import Credential, exec_plugin
from asoreconcile.kube.impersonation import impersonation_headers
from asoreconcile.kube.token_file import TokenFile
from asoreconcile.wire.trust import TlsTrust

DEFAULT = "~/.kube/config"
_YAML: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load(paths: str, *, clock: Clock) -> ClusterConfig:
    """The current context of one or several files. Raises KubeConfigError.

    paths: one path, or several with `:` between; where two name the same thing, the
    first wins.
    """
    try:
        return _load(paths, clock=clock)
    except Exception as error:  # noqa: BLE001 - malformed files fail it in any way
        raise KubeConfigError(
            f"no cluster configuration in {paths}: {_reason(error)}"
        ) from None  # malformed content may contain keys


def _reason(error: Exception) -> str:
    """What is wrong, without the entry it is wrong in."""
    if isinstance(error, AsoreconcileError):
        return str(error)
    if isinstance(error, OSError):
        named = f": {error.filename}" if error.filename else ""
        return f"{error.strerror or type(error).__name__}{named}"
    return "not a kubeconfig"


def _load(paths: str, *, clock: Clock) -> ClusterConfig:
    context, user, cluster = _current(paths)
    url = cluster.text("server").rstrip("/")
    if not url:
        raise KubeConfigError(
            "the cluster names no server: set clusters[].cluster.server"
        )
    secure = urlsplit(url).scheme == "https"
    certificates = _certificates(user, cluster) if secure else None
    config = ClusterConfig(
        url=url,
        trust=None,
        authorization=partial(str, _header(user)),
        server_name=cluster.text("tls-server-name") or None,
        namespace=context.text("namespace") or "default",
        proxy_url=cluster.text("proxy-url"),
        impersonation=impersonation(user.value),
    )
    if certificates is not None:
        config = attrs.evolve(
            config,
            trust=certificates.trust,
            renew=certificates.renew,
            generation=lambda: certificates.generation,
        )
    if user.value.get("auth-provider"):
        # Here: it loads the package.
        try:
            extras.need("auth-provider", "the user's auth-provider")
        except extras.MissingExtraError as error:
            raise KubeConfigError(str(error)) from error
        from asoreconcile.kube.auth_provider import ProvidedCredential

        return _with_plugin(config, ProvidedCredential(paths).run, clock)
    if file := user.path("tokenFile"):
        token = TokenFile(file, clock=clock)
        return attrs.evolve(
            config, authorization=token.authorization, renew=token.renew
        )
    # A token takes precedence over a plug-in, as with kubectl.
    if (run := user.value.get("exec")) and not user.value.get("token"):
        folders = {"folder": user.folder, "cluster_folder": cluster.folder}
        return _with_plugin(
            config, exec_plugin(run, cluster.value, **folders).run, clock
        )
    return config


def _with_plugin(
    config: ClusterConfig, run: Callable[[], Credential], clock: Clock
) -> ClusterConfig:
    renewed = ExecAuthenticator(run, clock=clock)
    of_files = config.generation
    return attrs.evolve(
        config,
        trust=config.trust and partial(_showing, renewed, config.trust),
        authorization=renewed.authorization,
        renew=renewed.renew,
        generation=lambda: of_files() + renewed.generation,
    )


def _showing(renewed: ExecAuthenticator, trust: Callable[[], TlsTrust]) -> TlsTrust:
    of_files = trust()
    return attrs.evolve(of_files, pair=renewed.pair or of_files.pair)


@attrs.frozen
class _Entry:
    """A context, user or cluster, and the folder that its paths are relative to."""

    value: JsonObject = attrs.field(factory=dict, repr=False)
    folder: Path = Path()

    def text(self, member: str) -> str:
        """A string member; "" if missing. Raises KubeConfigError."""
        value = self.value.get(member)
        if value is not None and not isinstance(value, str):
            raise KubeConfigError(f"{member} must be text")
        return value or ""

    def path(self, member: str) -> Path | None:
        """A member with a file path. Raises KubeConfigError."""
        name = self.text(member)
        return self.folder / name if name else None

    def pem(self, member: str) -> Path | bytes | None:
        """The inline member (`-data`, which takes precedence), or a path.

        Raises KubeConfigError.
        """
        if text := self.text(f"{member}-data"):
            try:
                return base64.b64decode("".join(text.split()), validate=True)
            except ValueError:
                raise KubeConfigError(f"{member}-data is no base64") from None
        return None if f"{member}-data" in self.value else self.path(member)


def _current(paths: str) -> tuple[_Entry, _Entry, _Entry]:
    """The current context, its user and its cluster. Raises KubeConfigError."""
    files = list(_files(paths))
    if not files:
        raise KubeConfigError("no such file: set KUBECONFIG, or run in a cluster")
    named = (config.get("current-context") for config, _ in files)
    name = next((str(one) for one in named if one), "")
    if not name:
        raise KubeConfigError("no current-context: run kubectl config use-context NAME")
    context = _entry(files, "context", name)
    if context is None:
        raise KubeConfigError(
            f"there is no context {name}: see kubectl config get-contexts"
        )
    cluster = _entry(files, "cluster", context.text("cluster"))
    if cluster is None:
        raise KubeConfigError(
            f"there is no cluster {context.text('cluster')}, which context {name} names"
        )
    user = _entry(files, "user", context.text("user"))
    return context, user or _Entry(), cluster


def _files(paths: str) -> Iterator[tuple[JsonObject, Path]]:
    for name in filter(None, paths.split(os.pathsep)):
        path = Path(name).expanduser().absolute()
        if not path.exists():
            continue  # as in kubectl: KUBECONFIG may name missing files
        with path.open("rb") as file:
            config = yaml.load(file, Loader=_YAML)  # noqa: S506 - a safe one
        if not isinstance(config, dict):
            raise KubeConfigError(f"{path} is empty or no kubeconfig")
        yield config, path.parent


def _entry(files: list[tuple[JsonObject, Path]], kind: str, name: str) -> _Entry | None:
    for config, folder in files:
        for one in config.get(f"{kind}s") or ():
            if one["name"] == name:
                return _Entry(dict(one.get(kind) or {}), folder)
    return None


def impersonation(user: JsonObject) -> tuple[tuple[str, str], ...]:
    """The impersonation headers of a user. Raises KubeConfigError."""
    name = str(user.get("as") or "")
    groups, extra = user.get("as-groups") or (), user.get("as-user-extra") or {}
    uid = str(user.get("as-uid") or "")
    if not name:
        if groups or extra or uid:
            raise KubeConfigError("as-groups, as-uid or as-user-extra without as")
        return ()
    return impersonation_headers(name, groups=groups, uid=uid, extra=extra)


def _certificates(user: _Entry, cluster: _Entry) -> ClientCertificates:
    certificate = user.pem("client-certificate")
    return ClientCertificates(
        authority=cluster.pem("certificate-authority"),
        pair=None if certificate is None else (certificate, user.pem("client-key")),
        # insecure-skip-tls-verify in the file is the user's decision
        verify=not cluster.value.get("insecure-skip-tls-verify"),
    )


def _header(user: _Entry) -> str:
    """The `Authorization` header from the file itself, or ""."""
    if token := user.text("token"):
        return f"Bearer {token}"
    name, password = user.text("username"), user.text("password")
    if not (name and password):
        return ""
    pair = f"{name}:{password}".encode()
    return f"Basic {base64.b64encode(pair).decode()}"
