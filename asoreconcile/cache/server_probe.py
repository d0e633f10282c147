"""Whether the API server is still at the other end: a quiet watch does not show it.

    answered               ->  asked again in 15 s, over the same connection
    no answer within 10 s  ->  asked each second, over new connections
    answered again         ->  connections of before are given up, and watches that
                               have got nothing since are opened again, where they were

A router, balancer or server that falls silent leaves connections that look alive, and
a watch without news looks the same. The one that is asked over is as old as theirs, and
falls silent as they do: so they are deaf for half a minute, not until they are due to
end. What is left: a watch that falls silent alone, which its missing bookmark shows
after 63 s (`cache.watching`), and a dead peer, which the kernel notices in 30 s
(`kube.transport`). Rules: RF-8, RF-13.
"""

import threading
from collections.abc import Callable
from functools import partial

from asoreconcile.cache.informers import Informers
from asoreconcile.clock import Clock
from asoreconcile.errors import StoppedError
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.errors import ApiError, TransportError
from asoreconcile.log import Logger
from asoreconcile.threads import Threads

_log = Logger(__name__)

PROBE_SECONDS = 10.0
_EVERY_SECONDS = 15.0
_RETRY_SECONDS = 1.0
# Everybody may ask for it who can ask for anything, and it costs next to nothing.
_CHEAPEST = "/version"


class ServerProbe:
    """A service that asks for as long as it runs. Safe from any thread."""

    name = "API server probe"

    def __init__(
        self,
        probe: Callable[[], object],
        renew: Callable[[float], int],
        *,
        clock: Clock,
        threads: Threads | None = None,
        close: Callable[[], None] = lambda: None,
        every_seconds: float = _EVERY_SECONDS,
        retry_seconds: float = _RETRY_SECONDS,
    ) -> None:
        """probe: asks the cheapest question there is, over a connection that it keeps
        and nobody else uses; raises ApiError for an answer that refuses, and
        TransportError for none. close: ends a probe that waits, and all to come.

        renew: opens again what has got nothing since a moment of the clock; how many
        watches that were.
        """
        self._probe = probe
        self._renew = renew
        self._close = close
        self._clock = clock
        self._threads = threads or Threads.timed_by(clock)
        self._every_seconds = every_seconds
        self._retry_seconds = retry_seconds
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._answered_at = clock.monotonic()
        self._unanswered_since: float | None = None
        self.last_error = ""
        """Why there is no answer, or ""."""
        self.renewed = 0
        """How many watches were opened again so far."""

    @property
    def seconds_since_answer(self) -> float:
        """How long ago the server last answered a probe."""
        return self._clock.monotonic() - self._answered_at

    def start(self) -> None:
        """Begin to ask, on a thread of its own; the time until the first answer
        counts.
        """
        self._answered_at = self._clock.monotonic()
        self._thread = self._threads.start(
            self.name, self._run, stopping=self._stopping
        )

    def stop(self, timeout_seconds: float) -> list[str]:
        """End, cutting off a probe that waits."""
        self._stopping.set()
        self._close()
        if self._thread is None:
            return []
        self._thread.join(timeout_seconds)
        return [self.name] if self._thread.is_alive() else []

    def _run(self) -> None:
        while not self._clock.wait(self._stopping, self._pause_seconds()):
            try:
                self.probe_once()
            except StoppedError:
                return

    def _pause_seconds(self) -> float:
        return self._retry_seconds if self.last_error else self._every_seconds

    def probe_once(self) -> None:
        """Ask once. Blocks as long as the probe does. Raises StoppedError."""
        try:
            self._probe()
        except ApiError:
            pass  # whatever it says, it says something
        except TransportError as error:
            if self._unanswered_since is None:
                # Not when it was asked: what was heard of since then may have fallen
                # silent a moment later. What is heard from now on has survived it.
                self._unanswered_since = self._clock.monotonic()
                _log.warning("API server does not answer", reason=str(error))
            self.last_error = str(error)
            return
        self._answered_at = self._clock.monotonic()
        self.last_error = ""
        if self._unanswered_since is not None:
            count = self._renew(self._unanswered_since)
            self._unanswered_since = None
            self.renewed += count
            _log.info("API server answers again", watchesOpenedAnew=count)


def server_probe(
    cluster: ClusterConfig,
    client: KubeClient,
    informers: Informers,
    *,
    user_agent: str,
    clock: Clock,
    threads: Threads,
) -> ServerProbe:
    """The probe of a process whose requests go by `client`. Sends nothing yet.

    It asks by a client of its own: one connection, that is as old as the process.
    """
    prober = KubeClient(
        cluster,
        user_agent=user_agent,
        clock=clock,
        read_seconds=PROBE_SECONDS,
        max_retries=0,
    )

    def renew(since: float) -> int:
        client.renew_connections()
        return informers.renew(since)

    return ServerProbe(
        partial(prober.read, _CHEAPEST),
        renew,
        clock=clock,
        threads=threads,
        close=prober.close,
    )
