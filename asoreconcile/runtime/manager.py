"""The manager: starts services in order, waits, and stops them within a time.

One makes a process: it adds controllers, caches and endpoints, and calls `run` on the
main thread. Rules: MG-*.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from enum import Enum
from functools import partial

from asoreconcile import reconcile_context
from asoreconcile.clock import Clock
from asoreconcile.errors import AsoreconcileError, StoppedError
from asoreconcile.kube.retrying import START_UP, is_passing
from asoreconcile.log import Logger
from asoreconcile.retry import retry
from asoreconcile.runtime.runnable import (
    STOP_ORDER,
    AfterCaches,
    Elector,
    Runnable,
    RunnableFunc,
    RunnableGroup,
    RunnableHooks,
    WarmUpRunnable,
)
from asoreconcile.runtime.signals import stop_signals
from asoreconcile.runtime.worker_pool import start_daemon
from asoreconcile.stop_signal import StopSignal

_log = Logger(__name__)

GRACE_SECONDS = 25.0  # pods usually get 30 s
# Of a stop's time, for giving the lease back: an event that is not written, or a probe
# that is not answered, must not keep the next leader waiting.
_SHARE_OF_LEASE = 1 / 16
# Of a stop's time, for what is being started when it begins, as for reconciles.
_SHARE_OF_STARTS = 0.9


class ManagerError(AsoreconcileError):
    """The manager's methods were called in a wrong order."""


class LeadershipLostError(AsoreconcileError):
    """Another process may be leading: this one must exit. Rule: MG-5."""


class _Phase(Enum):
    NEW = "new"
    RUNNING = "running"
    STOPPING = "stopping"


class Manager:
    """Owns lifetimes. Methods are safe from any thread."""

    def __init__(
        self,
        *,
        clock: Clock,
        elector: Elector | None = None,
        grace_seconds: float = GRACE_SECONDS,
        caches_ready: Callable[[], bool] = lambda: True,
    ) -> None:
        """elector: None leads at once.
        caches_ready: whether services that read caches may start; asked until it is so.
        grace_seconds: the whole budget of a stop; 0 does not wait. Make it shorter than
        the pod's terminationGracePeriodSeconds.
        """
        self._clock = clock
        self._elector = elector
        self._grace_seconds = grace_seconds
        self._lock = threading.Lock()
        self._services: dict[RunnableGroup, list[Runnable]] = {
            group: [] for group in RunnableGroup
        }
        self._started: dict[RunnableGroup, list[Runnable]] = {
            group: [] for group in RunnableGroup
        }
        self._open: set[RunnableGroup] = set()
        self._names: set[str] = set()
        self._phase = _Phase.NEW
        self._stop = threading.Event()
        # What is being started then asks the API server for no longer than this allows.
        self._starts = StopSignal()
        self._end: float | None = None
        # A stop has to wait for an election that comes through at that very moment:
        # what is half started would never be stopped.
        self._settled = threading.Event()  # no leader is being started
        self._settled.set()
        self._after_caches = AfterCaches(clock, caches_ready, self._start_one)
        self._early: set[int] = set()
        self._context = reconcile_context.Context(clock, stop=self._starts)
        self._deadline = 0.0
        self._lost = False
        self._over = threading.Event()
        self.started = threading.Event()
        """Set once all that may start has been started: everything, or all but what
        waits for the lease or the caches."""
        self.failure: BaseException | None = None
        """Why it stopped, if not because it was asked to."""

    def add(
        self,
        service: Runnable,
        *,
        group: RunnableGroup = RunnableGroup.LEADER,
        after_caches: bool = True,
    ) -> None:
        """Have a service started with its group; at once if the group has started.

        after_caches: of OTHERS and LEADER, not before the caches can be read. Say False
        for what the caches wait for, such as a step that installs CRDs. Controllers
        wait for their own sources.
        Raises ManagerError once stopping has begun, or if a service of that name is
        here already. Rules: MG-2, CT-8.
        """
        with self._lock:
            self._check_new(service)
            self._services[group].append(service)
            if (
                not after_caches
                or group < RunnableGroup.OTHERS
                or isinstance(service, WarmUpRunnable)
            ):
                self._early.add(id(service))
            # Added to a standby: its caches fill now, as those of all others have.
            warm = group is RunnableGroup.LEADER and RunnableGroup.OTHERS in self._open
            now = group in self._open
        # Before it can be started: a failure at once must find somebody.
        if isinstance(service, RunnableFunc):
            service.on_failure = self.fail
        if warm and not now and isinstance(service, WarmUpRunnable):
            service.warm_up()
        if now and not self._has_to_wait(group, service):
            self._start_one(group, service)

    def run(self, *, signals: bool = False) -> int:
        """Start everything, block until stopped, stop everything.

        signals: also stop on SIGINT and SIGTERM; main thread only.
        Returns the process's exit code: 0 after a clean stop that was asked for; 1
        after a failure, a lost lease, or a stop that ran out of time. Raises
        ManagerError if it ran before, and KeyboardInterrupt after the stop, if that is
        what ended it. Rules: MG-1, MG-3, MG-4.
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
                # Such as Ctrl-C where nobody handles signals: what runs ends first.
                self.fail(error)
                raise
            finally:
                still_running = self._shut_down()
        if still_running:
            _log.error("Stopped with work still running", running=still_running)
        if self.failure is not None:
            _log.error("Stopped because of a failure", error=repr(self.failure))
        return 1 if still_running or self.failure is not None else 0

    def stop(self) -> None:
        """Ask `run` to stop. Does not wait. Idempotent; before `run` it runs out of
        work at once.
        """
        self._ask_to_stop(self._grace_seconds)

    def fail(self, error: BaseException) -> None:
        """As `stop`, because of an error: `run` ends with 1. Of several the first one
        is `failure`. Rule: MG-3.
        """
        with self._lock:
            if self.failure is None:
                self.failure = error
        self._ask_to_stop(self._grace_seconds)

    @property
    def stopping(self) -> threading.Event:
        """Set once it is to stop; for what waits before or while services start."""
        return self._stop

    def _check_new(self, service: Runnable) -> None:
        if self._phase is _Phase.STOPPING:
            raise ManagerError("the manager is stopping")
        name = getattr(service, "name", None)
        if name is None:
            return
        if name in self._names:
            raise ManagerError(f"there is a service named {name} already")
        self._names.add(name)

    def _start(self) -> None:
        for group in (
            RunnableGroup.SERVERS,
            RunnableGroup.WEBHOOKS,
            RunnableGroup.CACHES,
            RunnableGroup.OTHERS,
        ):
            if not self._start_group(group):
                return
        # After the caches have begun: a standby's controllers take in events from here
        # on, so that a take-over starts with full queues.
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
        """Start what a group holds, and let later additions start at once.

        False: stopping was asked for, or something failed.
        """
        with self._lock:
            if self._stop.is_set() or self._phase is not _Phase.RUNNING:
                return False
            # In one step with the look at the list: a service that is added at this
            # moment is in it, or finds the group open and starts itself.
            self._open.add(group)
            services = list(self._services[group])
        behind_step = False
        for service in services:
            if behind_step:
                self._after_caches.hold(group, service, always=True)
            elif self._has_to_wait(group, service):
                # What comes after a step finds it done.
                behind_step = isinstance(service, RunnableHooks)
            elif not self._start_one(group, service):
                return False
        return True

    def _has_to_wait(self, group: RunnableGroup, service: Runnable) -> bool:
        """Whether it is held back until the caches can be read."""
        early = id(service) in self._early
        return not early and self._after_caches.hold(group, service)

    def _start_one(self, group: RunnableGroup, service: Runnable) -> bool:
        with self._lock:
            if self._phase is not _Phase.RUNNING or self._stop.is_set():
                return False
            # Before it starts: one that fails half-way is stopped as well.
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
        except StoppedError:
            return False
        except BaseException as error:  # noqa: BLE001 - becomes the manager's failure
            # Also what means to end the program: on a thread it would end just that,
            # and with it the election, or what waits for the caches.
            # Words of our own say what to do: no stack hides them.
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
        """Time is over, also for a stop that has begun: others may be writing."""
        self._lost = True
        # A stop may be waiting for the leaders: no time is left for that now.
        with self._lock:
            over = self._over
        self._ask_to_stop(0.0)
        self.fail(LeadershipLostError("leader election lost"))
        over.set()

    def _ask_to_stop(self, grace_seconds: float) -> None:
        """Have `run` go on to the end, which is so far away; the first time counts."""
        now = self._clock.monotonic()
        with self._lock:
            if self._end is not None:
                return
            self._end = now + grace_seconds
        try:
            self._starts.stop(now + grace_seconds * _SHARE_OF_STARTS)
        finally:
            self._stop.set()  # whatever becomes of those that are to be cut off

    def _shut_down(self) -> list[str]:
        """Stop in order within the budget; returns what still runs."""
        with self._lock:
            self._phase = _Phase.STOPPING
        # First of all: what is held back must not start into a process that stops.
        self._after_caches.close()
        end = self._end or 0.0
        reserved = self._grace_seconds * _SHARE_OF_LEASE if self._elector else 0.0
        still_running: list[str] = []
        writing = False
        for group in STOP_ORDER:
            # While something writes, the lease cannot be given back.
            writes = group is RunnableGroup.LEADER
            self._deadline = end if writes else end - reserved
            left = self._stop_group(self._started[group])
            if writes and not self._wait(self._settled):
                left.append("leaders (starting)")
            if writes and not self._wait(self._after_caches.settled):
                left.append("services (starting)")
            # Only what writes keeps the lease: a server that hangs harms no successor.
            writing = writing or (writes and bool(left))
            still_running += left
        self._deadline = end
        if self._elector is not None:
            # Given back while something still writes, the lease would let two write at
            # once.
            release = not writing and not self._lost
            still_running += self._elector.stop(self._remaining(), release=release)
        return still_running

    def _stop_group(self, services: Sequence[Runnable]) -> list[str]:
        """Stop several at once; one that hangs does not use up the others' time."""
        left: list[list[str]] = [
            [f"{_name(service)} (stopping)"] for service in services
        ]
        # One thread each: a service that hangs takes only its own time.
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
            except RuntimeError:  # no thread to be had: one after the other, then
                run()
        self._wait(over)
        return [line for lines in left for line in lines]

    def _remaining(self) -> float:
        """Seconds of the stop's budget; none once the lease is lost. Rule: MG-5."""
        if self._lost:
            return 0.0
        return max(0.0, self._deadline - self._clock.monotonic())

    def _wait(self, event: threading.Event) -> bool:
        remaining = self._remaining()
        # What keeps to its time gets a moment to say so.
        return event.wait(0.5) if remaining == 0 else self._clock.wait(event, remaining)


def _name(service: Runnable) -> str:
    return str(getattr(service, "name", type(service).__name__))
