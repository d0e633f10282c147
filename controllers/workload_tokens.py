"""Tokens of the service accounts of namespaces, for strict workload identity.

In strict mode a credential of a namespace signs in with a token of the ServiceAccount
`aso-workload` of that namespace, which the TokenRequest API makes. An identity in Azure
then trusts one namespace, and authors of other namespaces cannot sign in with it.
"""

import threading
from datetime import datetime

import attrs

from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.base.clock import Clock
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import JsonObject, dig
from asoreconcile.base.single_flight import SingleFlight
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import (
    ApiError,
    ForbiddenError,
    NotFoundError,
    TransportError,
)
from asoreconcile.kube.resources import SERVICE_ACCOUNTS
from asoreconcile.redaction import register

_log = Logger(__name__)

SERVICE_ACCOUNT = "aso-workload"
AUDIENCE = "api://AzureADTokenExchange"
_SECONDS = 3600
# As kubelet renews projected tokens.
_PART_OF_LIFE = 0.8
# A failed renewal is not repeated for each token of Entra.
_AGAIN_SECONDS = 60.0
# Entra must still see a valid token after the way there.
_MARGIN_SECONDS = 30.0


@attrs.frozen
class _Token:
    """A token. renew_at, ends: `Clock.monotonic` seconds."""

    text: str = attrs.field(repr=False)
    renew_at: float
    ends: float


class WorkloadTokens:
    """The token of a namespace's ServiceAccount, by the namespace. Safe from any
    thread.
    """

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._requests: SingleFlight[str, _Token] = SingleFlight()
        self._lock = threading.Lock()
        self._kept: dict[str, _Token] = {}

    def __call__(self, namespace: str) -> str:
        """Return a valid token; request another one after 80 % of its life.

        A token that is still valid stays in use if the API server does not answer, but
        not if the server refuses another one. Blocking; raises CredentialError, which
        says what is missing.
        """
        kept, now = self._kept.get(namespace), self._clock.monotonic()
        if kept is not None and now < kept.renew_at:
            return kept.text
        try:
            made = self._requests.do(namespace, lambda: self._requested(namespace))
        except (ApiError, TransportError) as error:
            is_answer = isinstance(error, ForbiddenError | NotFoundError)
            if is_answer or kept is None or kept.ends - now < _MARGIN_SECONDS:
                self._keep(namespace, None)
                raise _refused(namespace, error) from error
            _log.warning(
                "Cannot renew the token of a service account",
                namespace=namespace,
                reason=str(error),
            )
            made = attrs.evolve(kept, renew_at=now + _AGAIN_SECONDS)
        self._keep(namespace, made)
        return made.text

    def _keep(self, namespace: str, token: _Token | None) -> None:
        with self._lock:
            if token is None:
                self._kept.pop(namespace, None)
            else:
                self._kept[namespace] = token

    def _requested(self, namespace: str) -> _Token:
        began = self._clock.monotonic()
        answer = self._client.create(
            SERVICE_ACCOUNTS, token_request(namespace), subresource="token"
        )
        text = dig(answer, "status.token") or ""
        register(text, namespace=namespace)
        return _Token(text, *self._times(answer, began))

    def _times(self, answer: JsonObject, began: float) -> tuple[float, float]:
        """Return the times at which the token is renewed and expires.

        The server may choose another lifetime than the requested one.
        """
        try:
            until = datetime.fromisoformat(dig(answer, "status.expirationTimestamp"))
            life = (until - self._clock.now()).total_seconds()
        except (TypeError, ValueError):
            life = _SECONDS
        return began + life * _PART_OF_LIFE, began + life


def token_request(namespace: str) -> JsonObject:
    """Return the request for a token of a namespace's ServiceAccount. Pure."""
    return {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"name": SERVICE_ACCOUNT, "namespace": namespace},
        "spec": {"audiences": [AUDIENCE], "expirationSeconds": _SECONDS},
    }


def _refused(namespace: str, error: ApiError | TransportError) -> CredentialError:
    subject = f"system:serviceaccount:{namespace}:{SERVICE_ACCOUNT}"
    match error:
        case NotFoundError():
            how = (
                f"create the ServiceAccount {SERVICE_ACCOUNT} in namespace {namespace},"
                " and a federated credential of the identity in Azure with the subject "
                f"{subject}"
            )
        case ForbiddenError():
            how = (
                "grant the operator `create` on serviceaccounts/token of the name "
                f"{SERVICE_ACCOUNT}, as the chart does with workloadIdentityAuthMode: "
                "strict"
            )
        case _:
            how = "it is requested again"
    return CredentialError(
        f"workload identity is strict, and there is no token of ServiceAccount "
        f"{namespace}/{SERVICE_ACCOUNT} ({error}): {how}",
        is_passing=not isinstance(error, ForbiddenError | NotFoundError),
    )
