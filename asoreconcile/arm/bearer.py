"""The bearer token: fetched once for all workers, sent to one host only.

azure-core's own policy lets n workers fetch n tokens at once and follows a monitor to
any host. Here all share one sign-in, or go on with a token that is still good; and a
request to another host fails before a token is looked at.
Rules: E8, H4, H5, L21, Q1.
"""

import math
import re
import threading
import time
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from azure.core.credentials import AccessToken, TokenCredential
from azure.core.exceptions import AzureError
from azure.core.pipeline import PipelineRequest, PipelineResponse
from azure.core.pipeline.policies import HTTPPolicy
from azure.core.pipeline.transport import HttpRequest, HttpResponse

from asoreconcile import jsontext
from asoreconcile.arm.credentials import CredentialError, passes
from asoreconcile.arm.endpoint import Endpoint, problem_of_name
from asoreconcile.arm.response import PERHAPS_A_PROXY
from asoreconcile.clock import Clock
from asoreconcile.errors import AsoreconcileError, StoppedError
from asoreconcile.reconcile_context import DeadlineError
from asoreconcile.redaction import know
from asoreconcile.retry import Backoff, retry
from asoreconcile.single_flight import PatienceError, SingleFlight

# Fetched again when less than this of its time is left; one thread does so, others go
# on.
_RENEW_SECONDS = 300.0
# With less than this to live a token is as good as expired.
_MARGIN_SECONDS = 30.0
# An authority that has just given a token gives it again: one that has ended by its own
# words, or by a wrong clock of this machine, is for ARM to judge, not for a sign-in
# before each request.
_NEW_SECONDS = 10.0
# No sign-in of ours may take so long; a credential that somebody else wrote may.
_SIGN_IN_SECONDS = 120.0
# Pauses of 0.5 and 1 s; the third failure is shown, and objects back off on their own.
_FIRST_SIGN_IN = Backoff(attempts=3, first_seconds=0.5, factor=2.0, jitter=0.2)
# How long a request waits for a newer token while its own is still good.
_PATIENCE_SECONDS = 5.0
# The key of sign-ins that no refused token is the reason for.
_NEW = ("", "")
# Less is no token, and would be hidden in the texts of everybody.
_SHORTEST_TOKEN = 16
# Beyond it a float cannot be reckoned with, and NaN is not within it.
_NO_TIME = 1e300
_CLAIMS = re.compile(r'\bclaims="([A-Za-z0-9+/=_-]+)"')


class ForeignHostError(AsoreconcileError):
    """A URL that Azure named is on another host than ARM's: nothing was sent."""


class TokenCache:
    """One identity's token for one scope. Thread-safe; blocks while it is fetched.

    All who wait share one sign-in, and its failure. It runs on a thread of its own:
    azure-identity cannot be broken off, and nobody waits longer than the own reconcile
    may take.
    tenant_id: of another tenant than the credential's own, if the token is for that.
    """

    def __init__(
        self,
        credential: TokenCredential,
        scope: str,
        *,
        clock: Clock,
        tenant_id: str = "",
    ) -> None:
        self._clock = clock
        self._credential = credential
        self._scope = scope
        self._tenant_id = tenant_id
        self._sign_ins: SingleFlight[tuple[str, str], AccessToken] = SingleFlight(
            own_thread=True, name="azure-sign-in"
        )
        self._renewing = threading.Lock()
        self._token: AccessToken | None = None
        self._fetched = -math.inf

    def get(self) -> AccessToken:
        """A token that is good for another half minute at least, or was given a moment
        ago.

        Raises CredentialError, and DeadlineError or StoppedError when the reconcile's
        time is over before there is one.
        """
        token = self._token
        left = 0.0 if token is None else _left(token)
        if token is None or (left < _MARGIN_SECONDS and not self._is_new()):
            return self._signed_in(_NEW, lambda: self._fresh(_MARGIN_SECONDS))
        if (
            left < _RENEW_SECONDS
            and not self._is_new()
            and self._renewing.acquire(blocking=False)
        ):
            try:
                return self._renewed(token)
            finally:
                self._renewing.release()
        return token

    def replace(self, refused: AccessToken, *, claims: str) -> AccessToken:
        """Another token than the one ARM refused (E8). Raises as `get`.

        claims: of the challenge, or "". If another thread has replaced it meanwhile,
        that one is returned.
        """

        def replaced() -> AccessToken:
            token = self._token
            if token is None or token is refused:
                token = self._fetch(claims)
            return token

        return self._signed_in((refused.token, claims), replaced)

    def _signed_in(
        self, reason: tuple[str, str], call: Callable[[], AccessToken]
    ) -> AccessToken:
        try:
            return self._sign_ins.do(reason, call, at_most_seconds=_SIGN_IN_SECONDS)
        except PatienceError:
            raise CredentialError(
                f"no token for Azure: the sign-in takes over {_SIGN_IN_SECONDS:.0f} s"
            ) from None

    def _fresh(self, margin_seconds: float) -> AccessToken:
        token = self._token
        if token is None:
            # Nobody has a token to go on with, and every object would show a failure.
            return retry(
                lambda: self._fetch(""),
                backoff=_FIRST_SIGN_IN,
                when=lambda error: (
                    isinstance(error, CredentialError) and error.is_passing
                ),
                clock=self._clock,
                what="sign in to Azure",
            )
        if _left(token) < margin_seconds and not self._is_new():
            token = self._fetch("")
        return token

    def _is_new(self) -> bool:
        return self._clock.monotonic() - self._fetched < _NEW_SECONDS

    def _renewed(self, token: AccessToken) -> AccessToken:
        try:
            return self._sign_ins.do(
                _NEW,
                lambda: self._fresh(_RENEW_SECONDS),
                at_most_seconds=_PATIENCE_SECONDS,
            )
        except (CredentialError, PatienceError, DeadlineError, StoppedError):
            # The old one is still good; the next request tries again.
            return token

    def _fetch(self, claims: str) -> AccessToken:
        tenant = {"tenant_id": self._tenant_id} if self._tenant_id else {}
        try:
            token = self._credential.get_token(
                self._scope, claims=claims or None, enable_cae=True, **tenant
            )
        except CredentialError as error:
            if not self._tenant_id:
                raise
            message, is_passing = str(error), error.is_passing
        except AzureError as error:
            message = f"no token for Azure: {error.message}"
            is_passing = passes(error)
        else:
            if not (problem := _problem_of(token)):
                self._fetched = self._clock.monotonic()
                self._token = token
                return token
            message, is_passing = f"no token for Azure: {problem}", False
        if self._tenant_id:
            message = f"{message} (of the additional tenant {self._tenant_id})"
        raise CredentialError(message, is_passing=is_passing)

    def __repr__(self) -> str:
        return f"TokenCache({self._scope!r})"


class BearerPolicy(HTTPPolicy[HttpRequest, HttpResponse]):
    """Refuses foreign hosts, adds the token, answers one 401 with a new token.

    auxiliary: of other tenants, for resources that refer to some there (H5).
    """

    def __init__(
        self,
        tokens: TokenCache,
        endpoint: Endpoint,
        *,
        auxiliary: Sequence[TokenCache] = (),
    ) -> None:
        super().__init__()
        self._tokens = tokens
        self._endpoint = endpoint
        self._auxiliary = tuple(auxiliary)

    def send(
        self, request: PipelineRequest[HttpRequest]
    ) -> PipelineResponse[HttpRequest, HttpResponse]:
        """Send with the token, and once more with another if ARM refuses it by a 401.

        The second token answers the claims of the challenge. Raises ForeignHostError,
        and sends nothing, for any host but the endpoint's: monitors and next links come
        from answers. Blocking; raises what signing in does.
        """
        http = request.http_request
        if not self._endpoint.serves(http.url):
            raise ForeignHostError(
                f"not sent: {_host(http.url)} is not the ARM endpoint's host"
            )
        token = self._tokens.get()
        http.headers["Authorization"] = _shown(token)
        if self._auxiliary:
            others = [_shown(tokens.get()) for tokens in self._auxiliary]
            http.headers["x-ms-authorization-auxiliary"] = ", ".join(others)
        response = self.next.send(request)
        if response.http_response.status_code != 401:
            return response
        claims = challenge_claims(
            response.http_response.headers.get("WWW-Authenticate", "")
        )
        newer = self._tokens.replace(token, claims=claims)
        # Nothing newer is to be had: sent again, it would be refused again.
        if newer.token == token.token:
            return response
        http.headers["Authorization"] = _shown(newer)
        return self.next.send(request)


def challenge_claims(header: str) -> str:
    """The claims a 401 asks for, decoded; "" without any that can be asked for."""
    found = _CLAIMS.search(header)
    if found is None:
        return ""
    text = found.group(1).replace("-", "+").replace("_", "/")
    try:
        claims = b64decode(text + "=" * (-len(text) % 4), validate=True).decode()
        asked = jsontext.loads(claims)
    except (Base64Error, UnicodeDecodeError, jsontext.JSONDecodeError):
        return ""
    # azure-identity adds to what is asked of the token, and trips over anything else.
    of_token = asked.get("access_token", {}) if isinstance(asked, dict) else None
    return claims if isinstance(of_token, dict) else ""


def _problem_of(token: AccessToken) -> str:
    """Why what an authority gave is no token to send; "" if it may be one. Never
    quotes it: it may be one with something else around it.
    """
    text: object = token.token
    if not isinstance(text, str) or not text or problem_of_name(text):
        return f"the authority's answer holds no text that can be one{PERHAPS_A_PROXY}"
    ends: object = token.expires_on
    if not isinstance(ends, int | float) or not -_NO_TIME < ends < _NO_TIME:
        return f"the authority's answer does not say when it ends{PERHAPS_A_PROXY}"
    return ""


def _shown(token: AccessToken) -> str:
    """The header's value; proxies quote it, so it is hidden from now on."""
    if len(token.token) >= _SHORTEST_TOKEN:
        know(token.token)
    return f"Bearer {token.token}"


def _left(token: AccessToken) -> float:
    # Entra states the end of a token's life in wall-clock seconds.
    return token.expires_on - time.time()


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]
