"""The options of an application's client and caches, as one value for each.

Every option has a default that suits most; asoreconcile/README.md lists them.
"""

from collections.abc import Mapping

import attrs

from asoreconcile.backoff import TokenBucket
from asoreconcile.cache.informers import Informers
from asoreconcile.cache.scope import Namespaces, Scope, Transform
from asoreconcile.cache.unreadable import Report, unreported
from asoreconcile.clock import Clock
from asoreconcile.fencing import Fence
from asoreconcile.kube.client import FieldValidation, KubeClient
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.rest_client import RequestMetrics
from asoreconcile.kube.retrying import MAX_RETRIES
from asoreconcile.kube.transport import READ_SECONDS
from asoreconcile.objects import GroupKind
from asoreconcile.threads import Threads


@attrs.frozen(kw_only=True)
class ClientOptions:
    """How `Application.client` asks the API server. Rules: CL-4, CL-6.

    qps: requests a second, once `burst` of them went at once; None leaves it to the
    server's own fairness. read_seconds: the longest silence of a request that is no
    watch. max_retries: of one call that the server asks to be made again.
    field_manager, field_validation, dry_run: `KubeClient.with_defaults`, for all that
    the application writes but its lease.
    """

    qps: float | None = None
    burst: int = 100
    read_seconds: float = READ_SECONDS
    max_retries: int = MAX_RETRIES
    field_manager: str = ""
    field_validation: FieldValidation = ""
    dry_run: bool = False

    def client(
        self,
        cluster: ClusterConfig,
        *,
        user_agent: str,
        clock: Clock,
        metrics: RequestMetrics | None = None,
        before_write: Fence | None = None,
    ) -> KubeClient:
        """Make a client; the arguments are those of `KubeClient`."""
        bucket = None
        if self.qps is not None:
            bucket = TokenBucket(self.qps, self.burst, clock=clock)
        return KubeClient(
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
class CacheOptions:
    """What of the cluster is watched and kept. Rule: CA-2.

    namespaces: the only ones to watch, a sequence or selectors by name; None is the
    whole cluster. label_selector, field_selector: the server leaves the rest out.
    kinds: what is different for some kinds. transform: what is kept of an object, where
    its kind's scope does not say (IN-10). streaming: ask for initial state as a stream;
    servers that cannot are found out.
    """

    namespaces: Namespaces | None = None
    label_selector: str | None = None
    field_selector: str | None = None
    kinds: Mapping[GroupKind, Scope] = attrs.field(factory=dict)
    transform: Transform | None = None
    streaming: bool = True

    def informers(
        self,
        client: KubeClient,
        *,
        clock: Clock,
        report: Report = unreported,
        threads: Threads | None = None,
    ) -> Informers:
        """What watches it; it makes informers as they are asked for.

        report: called with objects that cannot be read.
        """
        return Informers(
            client,
            clock=clock,
            namespaces=self.namespaces,
            label_selector=self.label_selector,
            field_selector=self.field_selector,
            kinds=self.kinds,
            transform=self.transform,
            streaming=self.streaming,
            report=report,
            threads=threads,
        )
