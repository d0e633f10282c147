"""An API server and its credentials, as `kube.config` reads them."""

from collections.abc import Callable

import attrs

from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.wire.trust import TlsTrust


class KubeConfigError(AsoreconcileError):
    """There is no usable cluster configuration. The message lists the searched
    places.
    """


@attrs.frozen
class ClusterConfig:
    """An API server and the credentials for it.

    url: `https://host:port[/prefix]`. trust: the trusted CAs and the client
    certificate, None for plain HTTP; called before each connection, as files change. It
    must not fail.
    authorization: the current `Authorization` header value, or "". Called for each
    request, as tokens rotate. It may read a file or run a plug-in, so it may block.
    renew: after a 401, get the credential again; returns whether it changed. May raise
    KubeCredentialError, as authorization may.
    generation: a number that changes when open connections use an outdated certificate.
    impersonation: headers of the impersonated user; a name may occur more than once.
    namespace: the configuration's default namespace. proxy_url: URL of a proxy; "" for
    none. user: name of the user for the log; "" if unknown.
    """

    url: str
    trust: Callable[[], TlsTrust] | None = attrs.field(repr=False)
    authorization: Callable[[], str] = attrs.field(repr=False)
    server_name: str | None = None
    namespace: str = "default"
    renew: Callable[[], bool] = attrs.field(default=lambda: False, repr=False)
    proxy_url: str = attrs.field(default="", repr=False)
    generation: Callable[[], int] = attrs.field(default=lambda: 0, repr=False)
    impersonation: tuple[tuple[str, str], ...] = ()
    user: str = ""
