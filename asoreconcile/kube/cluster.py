"""An API server and a way in, wherever they were read from (`kube.config`)."""

from collections.abc import Callable

import attrs

from asoreconcile.errors import AsoreconcileError
from asoreconcile.wire.trust import TlsTrust


class KubeConfigError(AsoreconcileError):
    """No usable cluster configuration; the message says where it was looked for."""


def _always_the_first() -> int:
    """The default of `generation`: no connection becomes outdated."""
    return 0


def _no_other() -> bool:
    """The default of `renew`: there is no other credential to get."""
    return False


@attrs.frozen
class ClusterConfig:
    """An API server and a way in.

    url: `https://host:port[/prefix]`. trust: whom to believe and what to show, None for
    plain HTTP; asked before each connection: files change. It must not fail.
    authorization: the present `Authorization` header value, or "". Called for each
    request: tokens rotate. It may read a file or run a plug-in, so it may block.
    renew: after a refusal, get the credential again; whether it is another one now.
    May raise CredentialError, as authorization may.
    generation: another number once connections of before show an old certificate.
    impersonation: headers of the user to act as; a name may come more than once.
    namespace: the configuration's default namespace. proxy_url: "" goes direct.
    """

    url: str
    trust: Callable[[], TlsTrust] | None = attrs.field(repr=False)
    authorization: Callable[[], str] = attrs.field(repr=False)
    server_name: str | None = None
    namespace: str = "default"
    renew: Callable[[], bool] = attrs.field(default=_no_other, repr=False)
    proxy_url: str = attrs.field(default="", repr=False)
    generation: Callable[[], int] = attrs.field(default=_always_the_first, repr=False)
    impersonation: tuple[tuple[str, str], ...] = ()
