"""The bearer token: fetched once for all workers, sent to one host only.

azure-core's own policy lets n workers fetch n tokens at once and follows a monitor to
any host. Here all workers share one sign-in, or continue with a token that is still
valid; a request to another host fails before a token is requested.

Rules: E8, H4, H5, L21, Q1.
"""

import re
import threading
import time
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple
from urllib.parse import urlsplit

import attrs
from azure.core.credentials import AccessToken, TokenCredential
from azure.core.exceptions import AzureError
from azure.core.pipeline import PipelineRequest, PipelineResponse
from azure.core.pipeline.policies import HTTPPolicy
from azure.core.pipeline.transport import HttpRequest, HttpResponse

from asoreconcile.azure.arm.credentials import CredentialError, passes
from asoreconcile.azure.arm.endpoint import Endpoint, problem_of_name
from asoreconcile.azure.arm.response import PERHAPS_A_PROXY
from asoreconcile.base import jsontext
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import AsoreconcileError, StoppedError
from asoreconcile.base.reconcile_context import DeadlineError
from asoreconcile.base.retry import Backoff, retry
from asoreconcile.base.single_flight import PatienceError, SingleFlight
from asoreconcile.redaction import register

# One thread renews a token that has less than this left; the others keep using it.
_RENEW_SECONDS = 300.0
# A token with less than this left counts as expired.
_MARGIN_SECONDS = 30.0
# For so long a new token is used even if it seems expired (by its own expiry or a wrong
# clock of this machine). The authority would only return it again, and ARM decides;
# otherwise each request would sign in.
_NEW_SECONDS = 10.0
# Our own sign-ins take less; a credential from another package may take longer.
_SIGN_IN_SECONDS = 120.0
# With pauses of 0.5 and 1 s. The third failure is raised; objects then back off.
_FIRST_SIGN_IN = Backoff(attempts=3, first_seconds=0.5, factor=2.0, jitter=0.2)
# How long a request waits for a newer token while its own is still valid.
_PATIENCE_SECONDS = 5.0
# The key of sign-ins that do not replace a refused token.
_NEW = ("", "")
# A shorter text is not a token, and hiding it would blank out ordinary text.
_SHORTEST_TOKEN = 16
# An upper bound for expiry times; it also rejects NaN.
_NO_TIME = 1e300
_CLAIMS = re.compile(r'\bclaims="([A-Za-z0-9+/=_-]+)"')


class ForeignHostError(AsoreconcileError):
    """A URL that Azure named is on another host than ARM's. Nothing was sent."""


class _Given(NamedTuple):
    """A token and the time at which it was issued (`Clock.monotonic`).

    Both are one immutable value, so that no thread sees a token with the time of
    another one.
    """

    token: AccessToken
    at: float


@attrs.define(eq=False, repr=False)
class TokenCache:
    """One identity's token for one scope. Thread-safe; blocks while the token is
    fetched.

    All waiting threads share one sign-in, and its failure. The sign-in runs on a thread
    of its own: azure-identity cannot be interrupted, and no caller waits longer than
    its own reconcile may take.

    tenant_id: the tenant to get the token from, if it is not the credential's own.
    """

    _credential: TokenCredential
    _scope: str
    _clock: Clock
    _tenant_id: str = ""
    _sign_ins: SingleFlight[tuple[str, str], AccessToken] = attrs.field(
        init=False, factory=partial(SingleFlight, own_thread=True, name="azure-sign-in")
    )
    _renewing: threading.Lock = attrs.field(init=False, factory=threading.Lock)
    _given: _Given | None = attrs.field(init=False, default=None)

    def get(self) -> AccessToken:
        """Return a token that is valid for another half minute, or was fetched a moment
        ago.

        Raises CredentialError, and DeadlineError or StoppedError if the reconcile's
        time ends before there is a token.
        """
        given = self._given
        if given is None or not self._is_good(given, _MARGIN_SECONDS):
            return self._signed_in(_NEW, lambda: self._fresh(_MARGIN_SECONDS))
        if not self._is_good(given, _RENEW_SECONDS) and self._renewing.acquire(
            blocking=False
        ):
            try:
                return self._renewed(given.token)
            finally:
                self._renewing.release()
        return given.token

    def replace(self, refused: AccessToken, *, claims: str) -> AccessToken:
        """Return another token than the one that ARM refused (E8).

        claims: the claims of the challenge, or "".

        If another thread has replaced the token meanwhile, its token is returned.
        Raises the errors of `get`.
        """

        def replaced() -> AccessToken:
            given = self._given
            if given is None or given.token is refused:
                return self._fetch(claims)
            return given.token

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
        given = self._given
        if given is None:
            # There is no valid token, so every object would show a failure.
            return retry(
                lambda: self._fetch(""),
                backoff=_FIRST_SIGN_IN,
                when=lambda error: (
                    isinstance(error, CredentialError) and error.is_passing
                ),
                clock=self._clock,
                what="sign in to Azure",
            )
        if self._is_good(given, margin_seconds):
            return given.token
        return self._fetch("")

    def _is_good(self, given: _Given, margin_seconds: float) -> bool:
        """Return whether the token is valid for at least `margin_seconds`, or was just
        issued.
        """
        return (
            _left(given.token) >= margin_seconds
            or self._clock.monotonic() - given.at < _NEW_SECONDS
        )

    def _renewed(self, token: AccessToken) -> AccessToken:
        try:
            return self._sign_ins.do(
                _NEW,
                lambda: self._fresh(_RENEW_SECONDS),
                at_most_seconds=_PATIENCE_SECONDS,
            )
        except (CredentialError, PatienceError, DeadlineError, StoppedError):
            # The old token is still valid; the next request tries again.
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
                self._given = _Given(token, self._clock.monotonic())
                return token
            message, is_passing = f"no token for Azure: {problem}", False
        if self._tenant_id:
            message = f"{message} (of the additional tenant {self._tenant_id})"
        raise CredentialError(message, is_passing=is_passing)

    def __repr__(self) -> str:
        return f"TokenCache({self._scope!r})"


class BearerPolicy(HTTPPolicy[HttpRequest, HttpResponse]):
    """Refuses foreign hosts, adds the token, and retries one 401 with a new token.

    auxiliary: tokens of other tenants, for resources that refer to resources there
    (H5).
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
        """Send the request with the token, and once more with another token after a
        401.

        The second token answers the claims of the challenge. Blocking; raises the
        errors of a sign-in.
        Raises ForeignHostError, and sends nothing, for any host but the endpoint's: the
        URLs of monitors and next links come from responses.
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
        # There is no newer token: a second try would be refused, too.
        if newer.token == token.token:
            return response
        http.headers["Authorization"] = _shown(newer)
        return self.next.send(request)


def challenge_claims(header: str) -> str:
    """Return the decoded claims of a 401 response; "" if it has no valid claims."""
    found = _CLAIMS.search(header)
    if found is None:
        return ""
    text = found.group(1).replace("-", "+").replace("_", "/")
    try:
        claims = b64decode(text + "=" * (-len(text) % 4), validate=True).decode()
        asked = jsontext.loads(claims)
    except (Base64Error, UnicodeDecodeError, jsontext.JSONDecodeError):
        return ""
    # azure-identity adds to this member, and fails on any other form.
    of_token = asked.get("access_token", {}) if isinstance(asked, dict) else None
    return claims if isinstance(of_token, dict) else ""


def _problem_of(token: AccessToken) -> str:
    """Return why a response of the authority is not a valid token; "" if it may be one.

    Never quotes the token: the text may contain a real one.
    """
    text: object = token.token
    if not isinstance(text, str) or not text or problem_of_name(text):
        return f"the authority's answer holds no text that can be one{PERHAPS_A_PROXY}"
    ends: object = token.expires_on
    if not isinstance(ends, int | float) or not -_NO_TIME < ends < _NO_TIME:
        return f"the authority's answer does not say when it ends{PERHAPS_A_PROXY}"
    return ""


def _shown(token: AccessToken) -> str:
    """Return the token as the value of an `Authorization` header.

    The token is registered as a secret, because an error of a proxy may quote it.
    """
    if len(token.token) >= _SHORTEST_TOKEN:
        register(token.token)
    return f"Bearer {token.token}"


def _left(token: AccessToken) -> float:
    # Entra states the end of a token's life in wall-clock seconds.
    return token.expires_on - time.time()


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]
