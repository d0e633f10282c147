"""The manager: starts services in order, waits, and stops them within a time limit.

A process has one: it adds controllers, caches and endpoints, and calls `run` on the
main thread. Rules: MG-*.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from enum import Enum
from functools import partial

from asoreconcile.base import reconcile_context
from asoreconcile.base.clock import Clock, SystemClock, wait_at_most
from asoreconcile.base.errors import AsoreconcileError, is_own_stop
from asoreconcile.base.log import Logger
from asoreconcile.base.retry import retry
from asoreconcile.base.stop_signal import SHARE_OF_CALLS, StopSignal
from asoreconcile.kube.retrying import START_UP, is_passing
from asoreconcile.runtime.runnable import (
    STOP_ORDER,
    CacheSyncGate,
    DrainRunnable,
    Elector,
    Runnable,
    RunnableFunc,
    RunnableGroup,
    RunnableHooks,
    WarmUpRunnable,
)
from asoreconcile.runtime.signals import stop_signals
from asoreconcile.runtime.worker_pool import start_daemon

_log = Logger(__name__)

GRACE_SECONDS = 25.0  # pods usually get 30 s
# The part of the stop time reserved for releasing the lease: an unwritten event or an
# unanswered probe must not delay the next leader.
_SHARE_OF_LEASE = 1 / 16


class ManagerError(AsoreconcileError):
    """The manager's methods were called in the wrong order."""


class LeadershipLostError(AsoreconcileError):
    """The lease is lost, and this process must exit, because another one may be
    leading. Rule: MG-5.
    """


class _Phase(Enum):
    NEW = "new"
    RUNNING = "running"
    STOPPING = "stopping"


class Manager:
    """Starts and stops services. Methods are safe from any thread."""

    def __init__(
        self,
        *,
        clock: Clock,
        elector: Elector | None = None,
        grace_seconds: float = GRACE_SECONDS,
        drain_seconds: float = 0.0,
        caches_ready: Callable[[], bool] = lambda: True,
    ) -> None:
        """elector: elector of the leader; with None this process leads at once.
        caches_ready: returns whether services that read caches may start; polled until
        True.
        grace_seconds: the total time for a stop; 0 does not wait. Make it shorter than
        the pod's terminationGracePeriodSeconds.
        drain_seconds: how long webhooks are answered after a stop was requested, so
        that the cluster can take this process out of their Service; within
        grace_seconds.
        """
        self._clock = clock
        self._elector = elector
        self._grace_seconds = grace_seconds
        self._drain_seconds = drain_seconds
        self._lock = threading.Lock()
        self._services: dict[RunnableGroup, list[Runnable]] = {
            group: [] for group in RunnableGroup
        }
        self._started: dict[RunnableGroup, list[Runnable]] = {
            group: [] for group in RunnableGroup
        }
        self._open: set[RunnableGroup] = set()
        self._names: set[str] = set()
        self._present: set[int] = set()
        self._phase = _Phase.NEW
        self._stop = threading.Event()
        # Bounds the API requests of services that are still starting then.
        self._starts = StopSignal()
        self._end: float | None = None
        self._real_time = SystemClock.monotonic
        self._real_end = 0.0
        self._drained_at = 0.0
        # A stop waits for an election that succeeds at that moment: half-started
        # services would never be stopped.
        self._settled = threading.Event()  # no leader is being started
        self._settled.set()
        self._cache_sync_gate = CacheSyncGate(clock, caches_ready, self._start_one)
        self._early: set[int] = set()
        self._context = reconcile_context.Context(clock, stop=self._starts)
        self._deadline = 0.0
        self._lost_lease = threading.Event()
        self._over = threading.Event()
        self.started = threading.Event()
        """Set once every service that may start has been started; services that wait
        for the lease or the caches do not count.
        """
        self.failure: BaseException | None = None
        """The error that stopped it; None if it was asked to stop."""

    def add(
        self,
        service: Runnable,
        *,
        group: RunnableGroup = RunnableGroup.LEADER,
        after_caches: bool = True,
    ) -> None:
        """Add a service. It starts with its group, or at once if the group has started.

        after_caches: in the groups OTHERS and LEADER, start only after cache sync. Pass
        False for a service that the caches wait for, such as one that installs CRDs.
        Controllers wait for their own sources.
        Raises ManagerError once stopping has begun, or if the name is taken, TypeError
        if it is not a service. Rules: MG-2, CT-8.
        """
        if isinstance(service, type) or not isinstance(service, Runnable):
            raise TypeError(
                f"{service!r:.80} is no service: give an object with `start` and `stop`"
                ", such as RunnableFunc(name, function, clock=...)"
            )
        with self._lock:
            self._check_new(service)
            self._services[group].append(service)
            self._present.add(id(service))
            if (
                not after_caches
                or group < RunnableGroup.OTHERS
                or isinstance(service, WarmUpRunnable)
            ):
                self._early.add(id(service))
            # Added to a standby: it warms up now, as the others have.
            warm = group is RunnableGroup.LEADER and RunnableGroup.OTHERS in self._open
            now = group in self._open
        # Before it starts: an immediate failure needs its handler.
        if isinstance(service, RunnableFunc):
            service.on_failure = self.fail
        if warm and not now and isinstance(service, WarmUpRunnable):
            service.warm_up()
        if now and not self._has_to_wait(group, service):
            self._start_one(group, service)

    def remove(self, service: Runnable, timeout_seconds: float) -> list[str]:
        """Stop a service now, and forget it: its name is free again. Blocks for its
        stop, at most for the timeout.

        Returns what still runs then, as the service's `stop` does. Does nothing for a
        service that is unknown, and once the manager stops: that stops it.
        """
        with self._lock:
            if self._phase is _Phase.STOPPING or id(service) not in self._present:
                return []
            self._present.discard(id(service))
            self._early.discard(id(service))
            started = any(
                one is service for group in self._started.values() for one in group
            )
            for lists in (self._services, self._started):
                for group, services in lists.items():
                    # By identity: services may define equality.
                    lists[group] = [one for one in services if one is not service]
            name = getattr(service, "name", None)
            if name is not None:
                self._names.discard(name)
        self._cache_sync_gate.release(service)
        return service.stop(timeout_seconds) if started else []

    def run(self, *, signals: bool = False) -> int:
        """Start everything, block until stopped, stop everything.

        signals: also stop on SIGINT and SIGTERM; main thread only.
        Returns the process's exit code: 0 after a clean, requested stop; 1 after a
        failure, a lost lease, or a stop that ran out of time. Raises ManagerError if it
        ran before; if KeyboardInterrupt ended it, raises that after the stop. Rules:
        MG-1, MG-3, MG-4.
        """
        with self._lock:
            if self._phase is not _Phase.NEW:
                raise ManagerError("a manager runs once")
            self._phase = _Phase.RUNNING
        with stop_signals(self.stop) if signals else nullcontext():
            try:
                self._start()
                self._stop.wait()
            except BaseException as error:
                # Such as Ctrl-C without signal handlers: stop the services first.
                self.fail(error)
                raise
            finally:
                still_running = self._shut_down()
        if still_running:
            _log.error("Stopped with work still running", running=still_running)
        if self.failure is not None:
            _log.error("Stopped because of a failure", error=repr(self.failure))
        if not still_running and self.failure is None:
            _log.info("Stopped")
        return 1 if still_running or self.failure is not None else 0

    def stop(self, why: str = "stop was called") -> None:
        """Ask `run` to stop. Does not wait. Idempotent; called before `run`, it makes
        `run` return at once.

        why: the reason, for the log.
        """
        self._ask_to_stop(self._grace_seconds, why)

    def fail(self, error: BaseException) -> None:
        """Like `stop`, because of an error: `run` returns 1. The first error becomes
        `failure`. Rule: MG-3.
        """
        with self._lock:
            if self.failure is None:
                self.failure = error
        self._ask_to_stop(self._grace_seconds, repr(error))

    def check_caches(self) -> None:
        """Check for cache sync now, not at the next poll; if the caches have synced,
        the services that wait for them start. Does not wait for the start.
        """
        self._cache_sync_gate.check()

    @property
    def stopping(self) -> threading.Event:
        """An event that is set once a stop is requested, for code that waits before or
        while services start.
        """
        return self._stop

    def _check_new(self, service: Runnable) -> None:
        if self._phase is _Phase.STOPPING:
            raise ManagerError("the manager is stopping")
        name = getattr(service, "name", None)
        if name is None:
            return
        if name in self._names:
            raise ManagerError(
                f"the name {name} is taken: give this controller or service another "
                "one by name="
            )
        self._names.add(name)

    def _start(self) -> None:
        for group in (
            RunnableGroup.RECORDERS,
            RunnableGroup.SERVERS,
            RunnableGroup.WEBHOOKS,
            RunnableGroup.CACHES,
            RunnableGroup.OTHERS,
        ):
            if not self._start_group(group):
                return
        # After the caches have started, which a warm-up may read.
        self._warm_up()
        if self._elector is None:
            if not self._start_group(RunnableGroup.LEADER):
                return
        elif not self._stop.is_set():
            try:
                self._elector.start(elected=self._on_elected, lost=self._on_lost)
            except Exception as error:  # noqa: BLE001 - becomes the manager's failure
                _log.exception("Leader election failed to start")
                self.fail(error)
                return
        self.started.set()

    def _start_group(self, group: RunnableGroup) -> bool:
        """Start a group's services, and let later additions start at once.

        Return False if a stop was requested or a service failed.
        """
        with self._lock:
            if self._stop.is_set() or self._phase is not _Phase.RUNNING:
                return False
            # Under the same lock as the look at the list: a service added at this
            # moment is either in the list, or finds the group open and starts itself.
            self._open.add(group)
            services = list(self._services[group])
        behind_step = False
        for service in services:
            if behind_step:
                self._cache_sync_gate.hold(group, service, always=True)
            elif self._has_to_wait(group, service):
                # Later services rely on a completed step.
                behind_step = isinstance(service, RunnableHooks)
            elif not self._start_one(group, service):
                return False
        return True

    def _has_to_wait(self, group: RunnableGroup, service: Runnable) -> bool:
        """Return whether the service waits for cache sync."""
        early = id(service) in self._early
        return not early and self._cache_sync_gate.hold(group, service)

    def _start_one(self, group: RunnableGroup, service: Runnable) -> bool:
        with self._lock:
            if self._phase is not _Phase.RUNNING or self._stop.is_set():
                return False
            if id(service) not in self._present:
                return True  # removed meanwhile
            # Before it starts: a service that fails half-way is stopped too.
            self._started[group].append(service)
        try:
            with reconcile_context.running(self._context):
                retry(
                    service.start,
                    backoff=START_UP,
                    when=is_passing,
                    clock=self._clock,
                    stop=self._stop,
                    what=f"start {_name(service)}",
                )
        except BaseException as error:  # noqa: BLE001 - becomes the manager's failure
            if is_own_stop(error, self._stop):
                return False
            # Also SystemExit and the like: on a thread they would end only that thread,
            # and with it the election or the wait for cache sync.
            # Our own errors say what to do: log no stack with them.
            known = str(error) if isinstance(error, AsoreconcileError) else ""
            say = partial(_log.error, error=known) if known else _log.exception
            say("Service failed to start", service=_name(service))
            self.fail(error)
            return False
        return True

    def _warm_up(self) -> None:
        with self._lock:
            # A copy: a warm-up may add services of its own.
            services = list(self._services[RunnableGroup.LEADER])
        for service in services:
            if isinstance(service, WarmUpRunnable) and not self._stop.is_set():
                service.warm_up()

    def _on_elected(self) -> None:
        with self._lock:
            if self._phase is not _Phase.RUNNING:
                return
            self._settled.clear()
        try:
            self._start_group(RunnableGroup.LEADER)
        finally:
            self._settled.set()

    def _on_lost(self) -> None:
        """End the process without delay, even during a stop: others may be writing."""
        self._lost_lease.set()
        # A stop may be waiting for the LEADER group: cut that wait short.
        with self._lock:
            over = self._over
        lost = LeadershipLostError("leader election lost")
        self._ask_to_stop(0.0, repr(lost))
        self.fail(lost)
        over.set()

    def _ask_to_stop(self, grace_seconds: float, why: str) -> None:
        """Make `run` stop within the given time; only the first call counts."""
        now = self._clock.monotonic()
        with self._lock:
            if self._end is not None:
                return
            self._end = now + grace_seconds
            self._real_end = self._real_time() + grace_seconds
            self._drained_at = now + min(self._drain_seconds, grace_seconds)
        _log.info("Stopping", because=why, graceSeconds=grace_seconds)
        try:
            self._starts.stop(now + grace_seconds * SHARE_OF_CALLS)
        finally:
            self._stop.set()  # whether or not reconciles can be cut off

    def _shut_down(self) -> list[str]:
        """Stop all services in order within the time of the stop. Return descriptions
        of work that still runs.
        """
        with self._lock:
            self._phase = _Phase.STOPPING
        # First: services that still wait must not start in a stopping process.
        self._cache_sync_gate.close()
        drains = [
            service
            for service in self._started[RunnableGroup.WEBHOOKS]
            if isinstance(service, DrainRunnable)
        ]
        for service in drains:
            service.drain()
        end = self._end or 0.0
        reserved = self._grace_seconds * _SHARE_OF_LEASE if self._elector else 0.0
        still_running: list[str] = []
        writing = False
        for group in STOP_ORDER:
            # While something writes, the lease cannot be released.
            writes = group is RunnableGroup.LEADER
            self._deadline = end if writes else end - reserved
            left = self._stop_group(self._started[group])
            if writes and not self._wait(self._settled):
                left.append("leaders (starting)")
            if writes and not self._wait(self._cache_sync_gate.settled):
                left.append("services (starting)")
            # Only services that write keep the lease: a hanging server harms no
            # successor.
            writing = writing or (writes and bool(left))
            still_running += left
            if group is not RunnableGroup.RECORDERS:
                continue
            self._deadline = end
            reserved = 0.0
            if self._elector is not None:
                # If the lease were released while something writes, two processes could
                # write at once.
                release = not writing and not self._lost_lease.is_set()
                still_running += self._elector.stop(self._remaining(), release=release)
            if drains:
                self._wait_drained()
        return still_running

    def _wait_drained(self) -> None:
        """Wait until clients no longer send requests; caches and webhooks serve
        meanwhile.
        """
        rest = min(self._remaining(), self._drained_at - self._clock.monotonic())
        if rest > 0:
            wait_at_most(self._clock, self._lost_lease, rest)

    def _stop_group(self, services: Sequence[Runnable]) -> list[str]:
        """Stop several services at once; one that hangs does not use up the others'
        time.
        """
        left: list[list[str]] = [
            [f"{_name(service)} (stopping)"] for service in services
        ]
        # One thread each: a hanging service delays only itself.
        hanging = set(range(len(services)))
        over = threading.Event()
        with self._lock:
            self._over = over
        if not services:
            over.set()

        def stop(index: int, service: Runnable) -> None:
            try:
                left[index] = service.stop(self._remaining())
            except BaseException as error:  # noqa: BLE001 - the others must stop too
                _log.exception("Service failed to stop", service=_name(service))
                left[index] = [f"{_name(service)} ({type(error).__name__})"]
            finally:
                with self._lock:
                    hanging.discard(index)
                    if not hanging:
                        over.set()

        for index, service in enumerate(services):
            run = partial(stop, index, service)
            try:
                start_daemon(f"stop-{_name(service)}", run)
            except RuntimeError:  # no thread is available: stop it on this thread
                run()
        self._wait(over)
        return [line for lines in left for line in lines]

    def _remaining(self) -> float:
        """Return seconds left of the stop time; 0 once the lease is lost. Rule:
        MG-5.
        """
        if self._lost_lease.is_set():
            return 0.0
        # A test's clock may be stopped: the stop ends all the same.
        if self._end is not None and self._real_time() >= self._real_end:
            return 0.0
        return max(0.0, self._deadline - self._clock.monotonic())

    def _wait(self, event: threading.Event) -> bool:
        remaining = self._remaining()
        # A service that stops just in time gets a moment to report it.
        if remaining == 0:
            return event.wait(0.5)
        return wait_at_most(self._clock, event, remaining)


def _name(service: Runnable) -> str:
    return str(getattr(service, "name", type(service).__name__))
