"""The options of an application's client and controllers, as one value for each.

Every option has a default that suits most; asoreconcile/README.md lists them. Those of
the caches are `cache.scope.CacheOptions`, those of the leader election
`leaderelection.lease.LeaderElectionOptions`.
"""

from collections.abc import Callable, Hashable

import attrs

from asoreconcile.backoff import RateLimiter, TokenBucket
from asoreconcile.clock import Clock
from asoreconcile.errors import check_seconds
from asoreconcile.fencing import Fence
from asoreconcile.kube.client import FieldValidation
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.rest_client import RequestMetrics
from asoreconcile.kube.retrying import MAX_RETRIES
from asoreconcile.kube.transport import READ_SECONDS
from asoreconcile.objects import ObjectKey
from asoreconcile.resources.client import TypedClient
from asoreconcile.runtime.worker import Throttle
from asoreconcile.version import __version__


@attrs.frozen(kw_only=True)
class ClientOptions:
    """How `Application.client` asks the API server. Rules: CL-4, CL-6.

    user_agent: "" is the application's name and the library's version.
    qps: requests a second, once `burst` of them went at once; None leaves it to the
    server's own fairness. read_seconds: the longest that a call may take, its retries
    included; of a watch, until its answer begins. max_retries: of one call that the
    server asks to be made again.
    field_manager, field_validation, dry_run: `KubeClient.with_defaults`, for all that
    the application writes but its lease.

    Raises TypeError or ValueError for what is no time.
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
        check_seconds("read_seconds", self.read_seconds)

    def user_agent_of(self, name: str) -> str:
        """What requests of an application of that name carry."""
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
        """Make a client; the arguments are those of `KubeClient`."""
        bucket = None
        if self.qps is not None:
            bucket = TokenBucket(self.qps, self.burst, clock=clock)
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
    """How a controller works. Rules: CT-6, CT-9, PQ-11.

    max_concurrent_reconciles: threads, started when there is work.
    limiter: of retries; None is 5 ms doubling to 1000 s for each object. Each
    controller needs one of its own.
    deadline_seconds: what `reconcile_context.deadline()` says, and what every call of
    both clients keeps to; nothing is killed.
    fairness: the group of a key for round-robin; None is its namespace.
    throttle: whose turns reconciles wait for, before their time begins to count;
    controllers may share it.
    sync_timeout_seconds: when to warn about sources that do not sync.
    idle_seconds: how long an unneeded worker stays.
    needs_leader: False for what every replica does (`Application.reconcile`).

    Raises TypeError or ValueError for what is no time, and for no whole number of
    threads: with none of them nothing would ever be reconciled, and nothing said.
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
            check_seconds("deadline_seconds", self.deadline_seconds)
        check_seconds("sync_timeout_seconds", self.sync_timeout_seconds)
        check_seconds("idle_seconds", self.idle_seconds)
