"""Probes whether the API server still answers, which a quiet watch does not show.

    answered               ->  asked again in 15 s, over the same connection
    no answer within 10 s  ->  asked each second, over new connections
    answered again         ->  older connections are dropped, and watches that have
                               received nothing since are resumed

When a router, load balancer or server silently fails, its connections look alive, like
a watch without events. The probe's connection is as old as those of the watches and
fails with them. So watches miss events for half a minute, not until their timeout.
Two cases are handled elsewhere: a single silent watch
is noticed after 63 s by its missing bookmark (`cache.watching`), and a dead peer after
30 s by the kernel (`kube.transport`). Rules: RF-8, RF-13.
"""

import threading
from collections.abc import Callable
from functools import partial

from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import StoppedError
from asoreconcile.base.log import Logger
from asoreconcile.base.threads import Threads
from asoreconcile.cache.informers import Informers
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.errors import ApiError, TransportError

_log = Logger(__name__)

PROBE_SECONDS = 10.0
_EVERY_SECONDS = 15.0
_RETRY_SECONDS = 1.0
# Every authenticated user may read it, and it costs almost nothing.
_CHEAPEST = "/version"


class ServerProbe:
    """A service that sends probes while it runs. Safe from any thread."""

    name = "API server probe"

    def __init__(
        self,
        probe: Callable[[], object],
        renew: Callable[[float], int],
        *,
        clock: Clock,
        threads: Threads | None = None,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        """probe: function that sends the cheapest request over its own persistent
        connection; raises ApiError for an error response, and TransportError without a
        response. close: function that ends a waiting probe, and all later ones. renew:
        function that reopens the watches that have received nothing since a given time,
        and returns their number.
        """
        self._probe = probe
        self._renew = renew
        self._close = close
        self._clock = clock
        self._threads = threads or Threads(clock)
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._answered_at = clock.monotonic()
        self._unanswered_since: float | None = None
        self.last_error = ""
        """Why there is no response, or ""."""
        self.renewed = 0
        """How many watches were reopened so far."""

    @property
    def seconds_since_answer(self) -> float:
        """Return how long ago the server last answered a probe."""
        return self._clock.monotonic() - self._answered_at

    def start(self) -> None:
        """Start to probe, on a separate thread; the time until the first response
        counts too.
        """
        self._answered_at = self._clock.monotonic()
        self._thread = self._threads.start(
            self.name, self._run, stopping=self._stopping
        )

    def stop(self, timeout_seconds: float) -> list[str]:
        """Stop, and cut off a waiting probe."""
        self._stopping.set()
        self._close()
        if self._thread is None:
            return []
        self._thread.join(timeout_seconds)
        return [self.name] if self._thread.is_alive() else []

    def _run(self) -> None:
        while True:
            pause = _RETRY_SECONDS if self.last_error else _EVERY_SECONDS
            if self._clock.wait(self._stopping, pause):
                return
            try:
                self.probe_once()
            except StoppedError:
                if not self._stopping.is_set():
                    raise
                return

    def probe_once(self) -> None:
        """Probe once. Blocks as long as the probe does. Raises StoppedError."""
        try:
            self._probe()
        except ApiError:
            pass  # an error response shows that it answers
        except TransportError as error:
            if self._unanswered_since is None:
                # Not from the time of the request: a watch with events since then may
                # have failed just after. Watches with events from now on work.
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
    """Return the probe for the server of `client`. Sends nothing yet.

    It has its own client with one connection, which is as old as the process.
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
