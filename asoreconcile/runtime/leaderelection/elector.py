"""Leader election: one of several processes holds a Lease, and only that one may write.

    standby --(free, taken)--> leader --(not renewed, or changed by another)--> lost
                                  |--(stopped, all that wrote has ended)--> released

One thread acquires and renews, over a separate connection with short deadlines.
Standbys watch the lease, and acquire it as soon as it is released. The leader watches
it too: another name or duration, confirmed by a read, ends its right at once. Rules:
LE-2, LE-5 - LE-11.
"""

import random
import socket
import threading
import uuid
from collections.abc import Callable, Mapping
from datetime import datetime
from math import inf

import attrs

from asoreconcile.base import reconcile_context
from asoreconcile.base.clock import Clock, SystemClock, wait_at_most
from asoreconcile.base.errors import StoppedError, is_own_stop
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import ObjectKey
from asoreconcile.base.stop_signal import StopSignal
from asoreconcile.base.threads import Threads
from asoreconcile.cache.events import Deleted, Event, Updated
from asoreconcile.cache.informer import Informer
from asoreconcile.cache.scope import Scope
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.errors import ApiError, ConflictError, TransportError
from asoreconcile.kube.resources import LEASES
from asoreconcile.observability.metrics import RuntimeMetrics
from asoreconcile.runtime.health import CheckResult
from asoreconcile.runtime.leaderelection.fence import LeaseFence
from asoreconcile.runtime.leaderelection.lease import (
    Follow,
    LeaderElectionOptions,
    WriteLease,
    identity_of,
)
from asoreconcile.runtime.leaderelection.lease_lock import LeaseLock, ObservedLease
from asoreconcile.runtime.worker_pool import start_daemon

_log = Logger(__name__)

# As in controller-runtime: time for a process that lost the lease to exit by itself.
_TOLERANCE_SECONDS = 20.0
# The share of the stop time: a hanging renewal must leave time to release the lease.
_SHARE_OF_RENEWAL = 0.25


class LeaseElector:
    """`runtime.runnable.Elector` over a Lease. Methods are safe from any thread."""

    name = "leader election"

    def __init__(
        self,
        client: KubeClient,
        options: LeaderElectionOptions,
        *,
        clock: Clock,
        metrics: RuntimeMetrics | None = None,
        jitter: Callable[[], float] = random.random,
        threads: Threads | None = None,
    ) -> None:
        """client: client used by this elector only, without retries, with
        `timing.request_seconds` as its read timeout. `stop` closes it.
        options: options with a namespace; `lease_elector` fills in a default. Rule:
        LE-1.
        threads: starts the elector's own thread; share one per process to report
        threads that died.
        """
        lease = ObjectKey(options.namespace, options.lease)
        # Host names are reused: a pod must not mistake its predecessor's lease for its
        # own.
        self.identity = options.identity or identity_of(
            socket.gethostname(), options.pod_uid, str(uuid.uuid4())
        )
        self._client = client
        self._key = lease
        self._clock = clock
        self._timing = options.timing
        self._observed = ObservedLease(
            lease, self.identity, clock=clock, timing=self._timing
        )
        self._status = metrics.leader(lease.name) if metrics else None
        self._jitter = jitter
        self._start_thread = start_daemon
        self._threads = threads or Threads(clock)
        self._fence = LeaseFence(clock, self._expired)
        self._lease_lock = LeaseLock(
            client,
            self._observed,
            self._fence,
            clock=clock,
            timing=self._timing,
        )
        self._informer = Informer(
            client,
            LEASES,
            Scope([lease.namespace], field_selector=f"metadata.name={lease.name}"),
            clock=clock,
            threads=self._threads,
        )
        self._last_error = ""
        self._has_led = False
        self._wake = threading.Event()
        self._stopping = StopSignal()
        self._ended = threading.Event()
        self._ended.set()
        self._release_until = -inf
        self._really_until = inf
        self._gives_up = threading.Event()
        self._on_elected: Callable[[], None] = lambda: None
        self._on_lost: Callable[[], None] = lambda: None

    def start(self, *, elected: Callable[[], None], lost: Callable[[], None]) -> None:
        """Start to acquire. `elected` is called on a separate thread; `lost` must not
        block.
        """
        self._on_elected, self._on_lost = elected, lost
        self._show(leads=False)
        self._ended.clear()
        self._informer.add_handler(self._on_event)
        try:
            self._informer.start()
            self._threads.start(self.name, self._run, stopping=self._stopping)
        except BaseException:
            self._ended.set()  # no thread runs that `stop` could wait for
            raise

    def stop(self, timeout_seconds: float, *, release: bool) -> list[str]:
        """Stop; release the lease only if asked to. Rules: LE-6, LE-7."""
        # First: from here on only the lease itself is written, however long the rest
        # takes.
        running = self._fence.end()
        self._show(leads=False)
        if running and release:
            budget = min(timeout_seconds, self._timing.renew_deadline_seconds)
            now = self._clock.monotonic()
            self._release_until = now + budget
            self._really_until = SystemClock.monotonic() + budget
            # The result of the last renewal no longer matters: the lease is read before
            # it is released.
            self._stopping.stop(now + budget * _SHARE_OF_RENEWAL)
        else:
            # Before the client is closed: the request in progress that this cuts off
            # must find that it was stopped.
            self._stopping.stop()
            self._client.close()
        self._wake.set()
        self._informer.ask_to_stop()
        ended = wait_at_most(self._clock, self._ended, timeout_seconds)
        self._gives_up.set()
        self._client.close()
        return [] if ended else [self.name]

    def check(self) -> None:
        """Check that this process may write. Raises NotLeadingError if this process led
        and may no longer write.

        For `KubeClient(before_write=...)`: a process that resumes after a suspension
        finds here that its lease has expired, before it writes. Rule: LE-5.
        """
        self._fence.check()

    @property
    def leads(self) -> bool:
        """Return whether this process holds the lease now, by its own clock."""
        return self._fence.holds

    @property
    def predecessor_renewed(self) -> datetime | None:
        """Return when the previous leader last renewed, by its own clock, or None if
        there was no leader. Final once this process leads.
        """
        return self._lease_lock.predecessor_renewed

    def annotate(self, annotations: Callable[[], Mapping[str, str]]) -> None:
        """Write these annotations with each renewal; the function must not block."""
        self._lease_lock.annotations = annotations

    @property
    def leader_annotations(self) -> Mapping[str, str]:
        """Return the annotations of the Lease as last seen if another process holds it,
        else {}.
        """
        return {} if self._observed.is_ours else self._observed.annotations

    def readiness(self) -> CheckResult:
        """Return a readiness result that never fails.

        It reports that this process leads, or which other process leads and whether
        that one still renews the lease.
        """
        if self.leads:
            return CheckResult(ok=True, details=(f"leader: {self.identity}",))
        holder, silent = self._observed.holder, self._observed.silent_seconds
        leader, notice = f"{holder} leads" if holder else "nobody leads", ""
        if holder and silent > self._timing.lease_seconds:
            leader = (
                f"nobody leads: {holder} has not renewed the lease for {silent:.0f} s"
            )
            notice = (
                f"nobody has renewed the lease for {silent:.0f} s: delete it, unless "
                "its holder still runs"
            )
        return CheckResult(ok=True, details=(f"standby: {leader}",), notice=notice)

    def liveness(self) -> CheckResult:
        """Return a liveness result that fails if the process still runs after losing
        the lease. Rule: LE-8.
        """
        timing = self._timing
        spare = timing.lease_seconds - timing.renew_deadline_seconds
        hangs = self._fence.late_seconds >= spare + _TOLERANCE_SECONDS
        return CheckResult(ok=self._stopping.is_set() or not hangs)

    def _run(self) -> None:
        """Acquire and renew the lease on the elector's thread.

        If the thread dies, it is restarted; a leader has then lost the lease, and does
        not lead again.
        """
        self._ended.clear()
        try:
            if self._has_led:
                return
            if self._acquire():
                self._has_led = True
                self._renew_loop()
            self._release()
        except BaseException as error:
            if is_own_stop(error, self._stopping):
                return
            # The lease is no longer renewed, so another process will take it soon.
            if self._fence.holds or self._has_led:
                self._fence.end()
                self._notify_lost("leader election broke")
            raise
        finally:
            self._ended.set()

    def _acquire(self) -> bool:
        """Block until this process leads (True), or is stopped (False)."""
        while not self._stopping.is_set():
            try:
                answer = self._lease_lock.take()
            except (ApiError, TransportError) as error:
                self._report(error)
                self._wait(self._timing.retry_delay_seconds(self._jitter()))
            else:
                self._last_error = ""
                if answer is None:
                    return self._fence.holds
                self._follow(answer)
        return False

    def _report(self, error: ApiError | TransportError) -> None:
        """Log each new reason once; a lost race is not logged."""
        reason = str(error)
        if reason != self._last_error and not isinstance(error, ConflictError):
            _log.warning("Lease cannot be had", lease=str(self._key), error=reason)
        self._last_error = reason

    def _follow(self, answer: Follow) -> None:
        """Block while another process leads and renews the lease."""
        _log.info("Standing by", leader=answer.holder)
        while not self._stopping.is_set():
            self._wait(self._seconds_until(answer.until))
            following = self._observed.answer()
            if not isinstance(following, Follow) or following == answer:
                return
            answer = following

    def _seconds_until(self, moment: float) -> float:
        """Return the seconds until the next read of the lease.

        Without a watch, which would show a release, reads are more frequent.
        """
        left = moment - self._clock.monotonic()
        if self._informer.has_synced() and not self._informer.last_error:
            return left
        return min(left, self._timing.retry_delay_seconds(self._jitter()))

    def _on_event(self, event: Event) -> None:
        """Record the lease of a watch event, which may be outdated, and wake the
        elector. Called on the watch thread.
        """
        entry = event.new if isinstance(event, Updated) else event.entry
        if self._fence.holds:
            # The watch may deliver a state from before our own write, whose response is
            # newer. A deleted lease is made again with the next renewal.
            lease = entry.deep_copy()
            if not isinstance(event, Deleted) and self._observed.is_changed_by(lease):
                self._lease_lock.doubt(lease)
                self._wake.set()
            return
        self._observed.observe(
            None if isinstance(event, Deleted) else entry.deep_copy()
        )
        if isinstance(self._observed.answer(), WriteLease):
            self._wake.set()

    def _renew_loop(self) -> None:
        """Renew until stopped or no longer the leader."""
        _log.info("Leading", lease=str(self._key), identity=self.identity)
        self._show(leads=True)
        is_reported = self._report_elected()
        give_up = self._clock.monotonic() + self._timing.renew_deadline_seconds
        self._wake.clear()
        cut_off = reconcile_context.Context(self._clock, stop=self._stopping)
        while not self._stopping.is_set():
            self._wait(self._timing.retry_seconds)
            if self._stopping.is_set() or not self._fence.holds:
                return
            try:
                with reconcile_context.running(cut_off):
                    is_ours = self._lease_lock.renew()
                if not is_ours and self._fence.end():
                    self._notify_lost(self._why_lost())
            except StoppedError:
                return
            except (ApiError, TransportError) as error:
                _log.warning("Lease was not renewed", error=str(error))
            if not is_reported:
                is_reported = self._report_elected(
                    last=self._clock.monotonic() >= give_up
                )

    def _why_lost(self) -> str:
        if self._observed.is_ours:
            return "another writer has changed how long the lease lasts"
        return f"the lease is held by {self._observed.holder or 'nobody'}"

    def _report_elected(self, *, last: bool = False) -> bool:
        """Call `elected` on a separate thread; returns whether a thread could be
        started.

        Another thread is used because `elected` may be slow, and renewals go on. last:
        whether to raise RuntimeError if no thread can be started, so that another
        process, which may have threads left, can lead.
        """
        try:
            self._start_thread("leading", self._on_elected)
        except RuntimeError as error:
            if last:
                raise
            _log.warning("Leading, with no thread to begin; trying", error=str(error))
            return False
        return True

    def _release(self) -> None:
        """Release the lease, trying again until `_release_until`. Rule: LE-6."""
        while (
            self._clock.monotonic() < self._release_until
            # A test's clock may be stopped.
            and SystemClock.monotonic() < self._really_until
            and not self._gives_up.is_set()
        ):
            try:
                if self._lease_lock.release():
                    _log.info("Lease was given back", lease=str(self._key))
            # Another process wrote it since it was read: read it again and decide.
            except ConflictError:
                continue
            except (ApiError, TransportError) as error:
                _log.warning("Lease was not given back", error=str(error))
                wait_at_most(self._clock, self._gives_up, self._timing.retry_seconds)
            else:
                return

    def _expired(self) -> None:
        self._notify_lost("it was not renewed in time")

    def _notify_lost(self, why: str) -> None:
        _log.error("Leadership is lost", lease=str(self._key), reason=why)
        self._show(leads=False)
        self._on_lost()

    def _wait(self, seconds: float) -> None:
        """Block for this time, or until woken."""
        self._clock.wait(self._wake, seconds)
        self._wake.clear()

    def _show(self, *, leads: bool) -> None:
        if self._status is not None:
            self._status.set(leads)


def lease_elector(
    cluster: ClusterConfig,
    options: LeaderElectionOptions | str,
    *,
    user_agent: str,
    clock: Clock,
    metrics: RuntimeMetrics | None = None,
    threads: Threads | None = None,
) -> LeaseElector:
    """Return an elector with its own client.

    options: options of the election, or only the lease's name. The default namespace is
    that of the configuration. The other arguments are those of `LeaseElector`.
    """
    if isinstance(options, str):
        options = LeaderElectionOptions(options)
    client = KubeClient(
        cluster,
        user_agent=user_agent,
        clock=clock,
        metrics=metrics,
        read_seconds=options.timing.request_seconds,
        # Retries inside the client would use up the renew deadline: the elector's next
        # try is the retry, with newer information.
        max_retries=0,
    )
    if not options.namespace:
        options = attrs.evolve(options, namespace=cluster.namespace)
    return LeaseElector(client, options, clock=clock, metrics=metrics, threads=threads)
