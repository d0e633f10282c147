"""Kubeconfig files: the current context's cluster and user, used as kubectl uses them.

This module handles changes while the client runs: rotated token and certificate files,
and plug-ins (`exec`, `auth-provider`). Only an `auth-provider` loads the `kubernetes`
package, which brings pydantic and oauthlib along (`auth_provider`). A refusal names the
file, the entry and the member, and quotes no value that may be secret. Compared with
clientcmd in `tests/contract/test_contract_clientcmd.py`.
"""

import base64
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import attrs

from asoreconcile.base import extras
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.tls import Pem
from asoreconcile.kube.client_certificates import ClientCertificates
from asoreconcile.kube.cluster import ClusterConfig, KubeConfigError
from asoreconcile.kube.exec_authenticator import ExecAuthenticator
from asoreconcile.kube.exec_plugin import Credential, check_entry, exec_plugin
from asoreconcile.kube.impersonation import impersonation_headers
from asoreconcile.kube.kubeconfig_file import NamedEntry, anonymous, read_files
from asoreconcile.kube.token_file import TokenFile
from asoreconcile.wire.destination import Proxy
from asoreconcile.wire.trust import TlsTrust, checked_authorities

DEFAULT = "~/.kube/config"
_SERVER = re.compile(
    r"https?://(?:[a-z0-9._~-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?"
    r"(?:/(?:[^\x00-\x20\x7f%?#]|%[0-9a-f]{2})*)?",
    re.IGNORECASE | re.ASCII,
)
_MAX_PORT = 65535


def load(paths: str, *, clock: Clock, context: str = "") -> ClusterConfig:
    """Return a context of one or several files. Raises KubeConfigError.

    paths: one path, or several with `:` between; if two define the same entry, the
    first wins. context: name of the context; if empty, the current context.
    """
    try:
        return _load(paths, context, clock=clock)
    except (AsoreconcileError, OSError) as error:
        raise KubeConfigError(
            f"no cluster configuration in {paths}: {_reason(error)}"
        ) from None  # malformed files may contain keys


def _reason(error: Exception) -> str:
    """Return the reason of an error. For an error of a file it names the path, and
    quotes nothing of the content.
    """
    if isinstance(error, OSError):
        named = f": {error.filename}" if error.filename else ""
        return f"{error.strerror or type(error).__name__}{named}"
    return str(error)


def _load(paths: str, name: str, *, clock: Clock) -> ClusterConfig:
    context, user, cluster = _chosen(paths, name)
    url = _server(cluster)
    _check_proxy(cluster)
    _check_user(user)
    certificates = _certificates(user, cluster)
    config = ClusterConfig(
        url=url,
        trust=None,
        authorization=str,
        server_name=cluster.members["tls-server-name"] or None,
        namespace=context.members["namespace"] or "default",
        proxy_url=cluster.members["proxy-url"],
        impersonation=_impersonation(user),
        user=user.name,
    )
    if not url.lower().startswith("https:"):
        return config  # in the clear kubectl shows no credentials, and no plug-in runs
    config = attrs.evolve(
        config,
        trust=certificates.trust,
        renew=certificates.renew,
        generation=lambda: certificates.generation,
    )
    return _signed_in(config, user, cluster, paths=paths, clock=clock)


def _signed_in(
    config: ClusterConfig,
    user: NamedEntry,
    cluster: NamedEntry,
    *,
    paths: str,
    clock: Clock,
) -> ClusterConfig:
    """Add the user's credential; a plug-in runs only if the user has no other one."""
    members = user.members
    if members["auth-provider"]:
        with _about(user, "auth-provider"):
            extras.require_extra("auth-provider", "the user's auth-provider")
            # Here: it loads the package.
            from asoreconcile.kube.auth_provider import ProvidedCredential

            return _with_plugin(config, ProvidedCredential(paths).run, clock)
    if members["tokenFile"] and members["username"]:
        user.refuse("tokenFile: there is a username too; leave one out")
    if file := user.path("tokenFile"):
        try:
            token = TokenFile(file, clock=clock)
        except (OSError, ValueError) as error:
            if not members["token"]:
                user.refuse(f"tokenFile: {_reason(error)}")
        else:
            return attrs.evolve(
                config, authorization=token.authorization, renew=token.renew
            )
    if header := _header(user):
        return attrs.evolve(config, authorization=partial(str, header))
    if members["exec"] and not _has_certificate(user):
        with _about(user, "exec"):
            plugin = exec_plugin(
                members["exec"],
                cluster.members,
                folder=user.file.parent,
                cluster_folder=cluster.file.parent,
            )
            return _with_plugin(config, plugin.run, clock)
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


def _chosen(paths: str, name: str) -> tuple[NamedEntry, NamedEntry, NamedEntry]:
    """Return a context, its user and its cluster. Raises KubeConfigError.

    name: the context's name; if empty, the current context.
    """
    files = read_files(paths)
    if not files:
        raise KubeConfigError("no such file: set KUBECONFIG, or run in a cluster")
    current = (one.current_context for one in files if one.current_context)
    name = name or next(current, "")
    if not name:
        raise KubeConfigError("no current-context: run kubectl config use-context NAME")

    def entry(kind: str, name: str) -> NamedEntry | None:
        found = (one.entries.get((kind, name)) for one in files)
        return next((one for one in found if one is not None), None)

    context = entry("context", name)
    if context is None:
        raise KubeConfigError(
            f"there is no context {name}: see kubectl config get-contexts"
        )

    user = entry("user", context.members["user"]) or anonymous(context)
    cluster = entry("cluster", context.members["cluster"])
    if cluster is None:
        context.refuse(
            f"cluster: there is no cluster {context.members['cluster']}".rstrip()
        )
    return context, user, cluster


def _server(cluster: NamedEntry) -> str:
    """Return the API server's URL, without a query. Raises KubeConfigError."""
    url = str(cluster.members["server"])
    if not url:
        cluster.refuse("server: the cluster names no server: set it to https://...")
    found = _SERVER.fullmatch(url.partition("#")[0].partition("?")[0])
    if found is None or not 0 < int(found[1] or 1) <= _MAX_PORT:
        cluster.refuse("server: expected https://HOST[:PORT][/PATH]")
    return found[0].rstrip("/")


def _check_proxy(cluster: NamedEntry) -> None:
    """Check the address of a proxy. Raises KubeConfigError."""
    url = cluster.members["proxy-url"]
    if not url:
        return
    try:
        # kubectl takes no socks5h, and its socks5 means that.
        if "://" not in url or Proxy.of(url).scheme == "socks5h":
            raise ValueError("use http://, https:// or socks5://")
    except ValueError as error:
        cluster.refuse(f"proxy-url: {error}")


def _check_user(user: NamedEntry) -> None:
    """Check the members of a user as kubectl does. Raises KubeConfigError."""
    members = user.members
    has_basic = bool(members["username"] or members["password"])
    if members["token"] and has_basic:
        user.refuse("token: there is a username or password too; leave one out")
    for member in ("token", "as", "as-uid"):
        _check_header(user, member, members[member])
    for group in members["as-groups"]:
        _check_header(user, "as-groups", group)
    for name, values in members["as-user-extra"].items():
        for value in (name, *values):
            _check_header(user, "as-user-extra", value)
    if plugin := members["exec"]:
        if members["auth-provider"]:
            user.refuse("exec: there is an auth-provider too; leave one out")
        with _about(user, "exec"):
            check_entry(plugin)


def _check_header(user: NamedEntry, member: str, value: str) -> None:
    if not value.isascii() or not (value.isprintable() or not value):
        user.refuse(f"{member}: it must be ASCII, without line breaks")


def _impersonation(user: NamedEntry) -> tuple[tuple[str, str], ...]:
    members = user.members
    uid, groups, extra = (
        members[name] for name in ("as-uid", "as-groups", "as-user-extra")
    )
    if members["as"]:
        return impersonation_headers(members["as"], groups=groups, uid=uid, extra=extra)
    if groups or extra or uid:
        user.refuse("as-groups, as-uid or as-user-extra without as")
    return ()


def _has_certificate(user: NamedEntry) -> bool:
    return bool(
        user.members["client-certificate"] or user.members["client-certificate-data"]
    )


def _pem(entry: NamedEntry, member: str) -> Pem | None:
    """Return a member's content in the file itself (`-data`), or the path of its
    file.
    """
    data, path = entry.members[f"{member}-data"], entry.path(member)
    if data and path:
        entry.refuse(f"{member}-data: there is {member} too; leave one out")
    return data or path


def _certificates(user: NamedEntry, cluster: NamedEntry) -> ClientCertificates:
    authority = _pem(cluster, "certificate-authority")
    is_insecure = cluster.members["insecure-skip-tls-verify"]
    if authority is not None and is_insecure:
        cluster.refuse(
            "insecure-skip-tls-verify: there is a certificate-authority too; leave one "
            "out"
        )
    pair = None
    if _has_certificate(user):
        certificate, key = _pem(user, "client-certificate"), _pem(user, "client-key")
        if certificate is None or key is None:
            user.refuse("client-key: it is missing, and client-certificate needs it")
        pair = certificate, key
    if authority is not None:
        with _about(cluster, "certificate-authority"):
            checked_authorities(authority)
    with _about(user, "client-certificate"):
        return ClientCertificates(
            authority=authority, pair=pair, verify=not is_insecure
        )


@contextmanager
def _about(entry: NamedEntry, member: str) -> Iterator[None]:
    """Return a context that turns an error into a KubeConfigError which names the entry
    and the member.
    """
    try:
        yield
    except (AsoreconcileError, OSError, ValueError, ImportError) as error:
        entry.refuse(f"{member}: {_reason(error)}")


def _header(user: NamedEntry) -> str:
    """Return the `Authorization` header that the file itself has, or ""."""
    members = user.members
    if token := members["token"]:
        return f"Bearer {token}"
    if not members["username"]:
        return ""
    pair = f"{members['username']}:{members['password']}".encode()
    return f"Basic {base64.b64encode(pair).decode()}"
