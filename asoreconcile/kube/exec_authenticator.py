"""The credential of an exec plug-in: renewed before it expires, and when refused.

    good  --(soon expired)-->  used on, and renewed meanwhile on a thread of its own
    none or expired        -->  callers wait for one run that all of them share
    refused (401)          -->  the refused caller waits for one run; others go on

No lock is held while the program runs: a leader that renews its lease with a good
credential never waits for it. Rules: CL-7, CL-9.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

from asoreconcile.base import call_limit
from asoreconcile.base.clock import Clock
from asoreconcile.base.log import Logger
from asoreconcile.base.single_flight import PatienceError, SingleFlight
from asoreconcile.kube.errors import KubeCredentialError
from asoreconcile.kube.exec_plugin import Credential
from asoreconcile.wire.trust import checked_pair

_log = Logger(__name__)

# Leaves time for a slow plug-in, or one failure, before requests are refused.
_EARLY = timedelta(seconds=120)
_EARLY_PART = 5  # for a short lifetime: a fifth of it before expiry
# Many threads are refused together: one run serves all of them.
_AGAIN_SECONDS = 5.0
_PATIENCE_SECONDS = 60.0
_RENEWAL = "renewal"


class ExecAuthenticator:
    """The last credential of a plug-in. Safe from any thread."""

    def __init__(
        self,
        run: Callable[[], Credential],
        *,
        clock: Clock,
    ) -> None:
        """run: `ExecPlugin.run`, which is called for the first time here. Raises
        KubeCredentialError.
        """
        self._run = run
        self._clock = clock
        self._flights: SingleFlight[str, None] = SingleFlight(
            own_thread=True, name="credential plug-in"
        )
        self._lock = threading.Lock()
        self._failure: KubeCredentialError | None = None
        self._ran_at = clock.monotonic()
        self._credential = Credential()
        self._early: datetime | None = None
        self._late: datetime | None = None
        self.generation = 0
        self.pair: tuple[bytes, bytes] | None = None
        """The client certificate and key as PEM; None if it returned none."""
        self._take(run())

    def authorization(self) -> str:
        """Return the header's value. Blocks only while there is no valid credential.

        Raises KubeCredentialError.
        """
        now = self._clock.now()
        if self._late is not None and now >= self._late:
            self._renewed()
        elif self._early is not None and now >= self._early:
            self._renew_meanwhile()
        token = self._credential.token
        return f"Bearer {token}" if token else ""

    def renew(self) -> bool:
        """Get a new credential after a 401. Blocks. Raises KubeCredentialError."""
        before = self._credential
        self._renewed()
        return self._credential != before

    def _renewed(self) -> None:
        """Wait for a run of the plug-in: the one in progress, or a new one unless one
        has just ended.
        """
        with self._lock:
            just_now = self._clock.monotonic() - self._ran_at < _AGAIN_SECONDS
            failure = self._failure
        if just_now and failure is not None:
            raise failure.with_traceback(None)
        if just_now:
            return
        call = call_limit.current()
        # A request waits no longer for its credential than for everything else.
        seconds = _PATIENCE_SECONDS
        if call is not None and call.left is not None:
            seconds = min(seconds, call.left)
        try:
            self._flights.do(_RENEWAL, self._renewal, at_most_seconds=seconds)
        except PatienceError:
            raise KubeCredentialError(
                f"the credential plug-in did not end in {seconds:.3g} s: run it by "
                "hand to see why"
            ) from None

    def _renew_meanwhile(self) -> None:
        with self._lock:
            if self._clock.monotonic() - self._ran_at < _AGAIN_SECONDS:
                return
        with suppress(PatienceError, KubeCredentialError):  # the run logged it
            self._flights.do(_RENEWAL, self._renewal, at_most_seconds=0.0)

    def _renewal(self) -> None:
        """Run the plug-in on the renewal thread; there is one at a time."""
        failure = None
        try:
            self._take(self._run())
        except KubeCredentialError as error:
            failure = error
            _log.warning("Credential was not renewed", reason=str(error))
            raise
        finally:
            with self._lock:
                self._failure = failure
                self._ran_at = self._clock.monotonic()

    def _take(self, credential: Credential) -> None:
        shown = (self._credential.certificate, self._credential.key)
        pair = self.pair
        if credential.certificate:
            try:
                pair = checked_pair(credential.certificate, credential.key)
            except OSError as error:
                raise KubeCredentialError(
                    f"the plug-in's certificate cannot be used: {error}"
                ) from None
        now, expires = self._clock.now(), credential.expires
        early = None
        if expires is not None:
            # Two minutes before expiry is too early for tokens of five minutes: they
            # would be renewed all the time.
            early = expires - min(_EARLY, (expires - now) / _EARLY_PART)
        self._credential = credential
        self.pair = pair
        self._early, self._late = early, expires
        if (credential.certificate, credential.key) != shown:
            # Open connections keep using the old certificate.
            self.generation += 1
