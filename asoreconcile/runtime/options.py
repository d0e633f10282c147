"""The options of an application's client and controllers, one class for each.

Every option has a default that suits most programs; asoreconcile/README.md lists them.
See `cache.scope.CacheOptions` for the caches, and
`leaderelection.lease.LeaderElectionOptions` for leader election.
"""

from collections.abc import Callable, Hashable
from typing import Any

import attrs

from asoreconcile.base.backoff import RateLimiter, TokenBucket
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import (
    check_choice,
    check_is,
    check_number,
    check_text,
)
from asoreconcile.base.fencing import Fence
from asoreconcile.base.objects import ObjectKey
from asoreconcile.base.signatures import check_takes
from asoreconcile.base.version import __version__
from asoreconcile.kube.client import FieldValidation
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.rest_client import RequestMetrics
from asoreconcile.kube.retrying import MAX_RETRIES
from asoreconcile.kube.transport import READ_SECONDS
from asoreconcile.resources.client import TypedClient
from asoreconcile.runtime.worker import Throttle


@attrs.frozen(kw_only=True)
class ClientOptions:
    """The options with which `Application.client` sends requests to the API server.
    Rules: CL-4, CL-6.

    user_agent: "" is the application's name and the library's version.
    qps: requests per second after a burst of `burst`; None and -1 set no limit and rely
    on the server's priority and fairness. read_seconds: the longest a call may take,
    including its retries; for a watch, until its response begins. max_retries: how
    often one call is retried when the server asks for it.
    field_manager, field_validation, dry_run: see `KubeClient.with_defaults`; for all
    writes of the application except its lease.

    Raises TypeError or ValueError for an invalid time, rate or count.
    """

    user_agent: str = ""
    qps: float | None = None
    burst: int = 100
    read_seconds: float = READ_SECONDS
    max_retries: int = MAX_RETRIES
    field_manager: str = ""
    field_validation: FieldValidation = ""
    dry_run: bool = False

    def __attrs_post_init__(self) -> None:
        check_number("read_seconds", self.read_seconds, least=0, above=True)
        check_number("max_retries", self.max_retries, least=0)
        if self._rate is not None:
            check_number("qps", self._rate, least=0, above=True)
        check_number("burst", self.burst, least=1)
        check_choice(
            "field_validation", self.field_validation, "", "Ignore", "Warn", "Strict"
        )
        check_is("dry_run", self.dry_run, bool)
        if self.user_agent:
            check_text("user_agent", self.user_agent)
        if self.field_manager:
            # The API server refuses each write with a longer one.
            check_text("field_manager", self.field_manager, most=128)

    @property
    def _rate(self) -> float | None:
        """Return the rate limit; None for -1, as in client-go."""
        return None if self.qps == -1 else self.qps

    def user_agent_of(self, name: str) -> str:
        """Return the user agent of an application of that name."""
        return self.user_agent or f"{name} asoreconcile/{__version__}"

    def client(
        self,
        cluster: ClusterConfig,
        *,
        user_agent: str,
        clock: Clock,
        metrics: RequestMetrics | None = None,
        before_write: Fence | None = None,
    ) -> TypedClient:
        """Create a client; the arguments are those of `KubeClient`."""
        bucket = None
        if self._rate is not None:
            bucket = TokenBucket(self._rate, self.burst, clock=clock)
        return TypedClient(
            cluster,
            user_agent=user_agent,
            clock=clock,
            metrics=metrics,
            limiter=bucket,
            read_seconds=self.read_seconds,
            max_retries=self.max_retries,
            before_write=before_write,
        ).with_defaults(
            field_manager=self.field_manager,
            field_validation=self.field_validation,
            dry_run=self.dry_run,
        )


@attrs.frozen(kw_only=True)
class ControllerOptions:
    """The options of a controller. Rules: CT-6, CT-9, PQ-11.

    max_concurrent_reconciles: the most worker threads; they start when there is work.
    limiter: the rate limiter of retries; None is 5 ms doubling to 1000 s per object.
    Each controller needs its own.
    deadline_seconds: the time limit of a reconcile. `reconcile_context.deadline()`
    returns it and every call of both clients keeps to it; no thread is killed.
    fairness: the group of a key for round-robin; None is its namespace.
    throttle: throttle that each reconcile waits for before its deadline begins;
    controllers may share one.
    sync_timeout_seconds: after this time, warn about sources that have not synced.
    idle_seconds: time after which an idle worker thread ends.
    needs_leader: False runs the controller on every replica (`Application.reconcile`).

    Raises TypeError or ValueError for an invalid time, limiter or function, and unless
    max_concurrent_reconciles is a positive integer: with 0 threads nothing would be
    reconciled, without an error.
    """

    max_concurrent_reconciles: int = 1
    limiter: RateLimiter | None = None
    deadline_seconds: float | None = None
    fairness: Callable[[ObjectKey], Hashable] | None = None
    throttle: Throttle | None = None
    sync_timeout_seconds: float = 120.0
    idle_seconds: float = 30.0
    needs_leader: bool = True

    def __attrs_post_init__(self) -> None:
        most: object = self.max_concurrent_reconciles
        if not isinstance(most, int) or most < 1:
            message = "max_concurrent_reconciles is {!r:.80}: give 1 or more threads"
            raise ValueError(message.format(most))
        if self.deadline_seconds is not None:
            check_number("deadline_seconds", self.deadline_seconds, least=0, above=True)
        if self.limiter is not None:
            _check_limiter(self.limiter)
        if self.fairness is not None:
            check_takes(self.fairness, "key", what="group of a key")
        if self.throttle is not None:
            check_is("throttle", self.throttle, Throttle)
        check_number("sync_timeout_seconds", self.sync_timeout_seconds, least=0)
        check_number("idle_seconds", self.idle_seconds, least=0)
        check_is("needs_leader", self.needs_leader, bool)


def _check_limiter(limiter: Any) -> None:
    """Check the interface of a rate limiter. Raises TypeError now, rather than in a
    worker at an object's first failure.
    """
    if isinstance(limiter, type):
        raise TypeError(
            f"limiter is the class {limiter.__name__}: give an object of it"
        )
    methods = {"delay": ("key", "error"), "forget": ("key",), "retries": ("key",)}
    for method, arguments in methods.items():
        function = getattr(limiter, method, None)
        if function is None:
            raise TypeError(
                f"limiter is {limiter!r:.80}, without a method `{method}`: give an "
                "ItemExponential, a TokenBucket, or another RateLimiter"
            )
        check_takes(function, *arguments, what=f"`{method}` of a RateLimiter")
