"""How far one replica goes, and ten: budgets, time to converge and memory, simulated.

    hack/bench scale [--objects N,N] [--workers N,N] [--replicas N]
                     [--whole [--syncs]]

Seconds are the simulated clock's. The client's budget and the buckets that throttle
each principal are the real ones; with --whole the rest of the client and the simulator
of Azure are, too, with sockets left out. What a worker does beside waiting for Azure is
not in it. Each replica has a principal of its own, its share of the objects, and that
many workers.
"""

import argparse
import gc
import heapq
import statistics
import time
import tracemalloc
import urllib.parse
import uuid
from collections import deque
from typing import Any

from azure.core.credentials import AccessToken
from azure.core.pipeline.transport import HttpTransport
from watching.running import show

from asoreconcile.azure.arm.bucket_key import Bucket, OperationClass
from asoreconcile.azure.arm.budget import Budget, ThrottledError
from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.collection_reads import CollectionReads
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.outcomes import NO_PROGRESS, Pending
from asoreconcile.azure.arm.tokens import RESOURCE, Token, TokenShape
from asoreconcile.azure.arm.transport import ArmHttpResponse
from asoreconcile.azure.reconcile.state.memory import ObjectMemories
from asoreconcile.azure.reconcile.state.sync_schedule import may_list
from asoreconcile.base import jsontext
from asoreconcile.base.objects import ObjectKey
from asoreconcile.cache.entry import Entry
from asoreconcile.queue.workqueue import WorkQueue
from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.arm.refusals import RefusedError
from asoreconcile.testing.arm.throttling import RequestKind, Throttling
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.http import HttpRequest
from asoreconcile.wire.request import WireAnswer

API = "2024-01-01"
TYPE = "Microsoft.Network/virtualNetworks"
BODY = {"location": "westeurope", "properties": {"number": 1}}
IN_A_GROUP = 100
LATENCY_SECONDS = 0.1
OPERATION_SECONDS = 10.0
WRITES_AT_ONCE, WRITES_A_SECOND = 200, 10
PERIOD_SECONDS = 3600.0
_RUNNING = Pending(
    Token(TokenShape.ASYNC, RESOURCE, "https://azure.test/operation", "Running"),
    OPERATION_SECONDS,
    NO_PROGRESS,
)


class InProcess(HttpTransport[Any, Any]):
    """Requests of a pipeline answered by the simulator itself."""

    def __init__(self, azure: ArmServer) -> None:
        self._azure = azure
        self.sent = 0
        self.refused = 0

    def send(self, request: Any, **_: Any) -> ArmHttpResponse:
        parts = urllib.parse.urlsplit(request.url)
        body = request.data or b""
        answer = self._azure.answer(
            HttpRequest(
                request.method,
                f"{parts.path}?{parts.query}",
                urllib.parse.unquote(parts.path),
                dict(urllib.parse.parse_qsl(parts.query)),
                {name.lower(): value for name, value in request.headers.items()},
                body.encode() if isinstance(body, str) else body,
            )
        )
        self.sent += 1
        self.refused += answer.status == 429
        headers = {name.lower(): value for name, value in answer.headers.items()}
        content = (
            answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
        )
        return ArmHttpResponse(request, WireAnswer(answer.status, headers, content))

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


class BudgetAlone:
    """What a client does to the budgets, and nothing else: the client's real one and
    the simulator's real buckets, where a hundred thousand creates are to be seen.
    """

    def __init__(self, throttling: Throttling, clock: FakeClock, name: str) -> None:
        self._throttling, self._name = throttling, name
        self._budget = Budget(clock)
        self.sent = self.refused = 0

    def put(self, _id: str, _api: str, _body: object) -> Pending:
        self._ask("writes")
        return _RUNNING

    def poll(self, _token: object, _progress: object) -> None:
        self._ask("reads")

    def get(self, _id: str, _api: str) -> None:
        self._ask("reads")

    def close(self) -> None:
        pass

    def _ask(self, kind: RequestKind) -> None:
        bucket = Bucket("s", OperationClass(kind))
        self._budget.admit(bucket)
        self.sent += 1
        try:
            headers = self._throttling.take(self._name, "s", kind)
            self._budget.observe(bucket, headers)
        except RefusedError:
            self.refused += 1
            raise
        finally:
            self._budget.leave(bucket)


class Replica:
    """One Deployment: its principal, its budget, its workers, its objects."""

    def __init__(
        self, azure: ArmServer, clock: FakeClock, name: str, buckets: Throttling | None
    ) -> None:
        """buckets: of Azure where it is nothing else."""
        self.name = name
        self.ids: list[str] = []
        self.ready: list[float] = []
        self.client: Any
        self.transport: InProcess | BudgetAlone
        if buckets is not None:
            self.client = self.transport = BudgetAlone(buckets, clock, name)
            return
        token = AccessToken(azure.entra.issue(name), 1 << 40)

        class Credential:
            def get_token(self, *_: str, **__: Any) -> AccessToken:
                return token

        self.transport = InProcess(azure)
        self.client = ArmClient(
            azure.url,
            Credential(),
            scope="s",
            clock=clock,
            budget=Budget(clock),
            transport=self.transport,
            register_providers=False,
        )


class Estate:
    """Creates by all replicas on one clock: a step starts when it is due and a worker
    of its replica is free, and keeps that worker until Azure has answered.
    """

    def __init__(self, clock: FakeClock, replicas: list[Replica], workers: int) -> None:
        self._clock = clock
        self._due: list[tuple[float, int, Replica, str, Pending | None]] = []
        self._free = {one.name: workers for one in replicas}
        self._waiting: dict[str, deque[tuple[str, Pending | None]]] = {
            one.name: deque() for one in replicas
        }
        self._order = 0
        self._began = clock.monotonic()
        for one in replicas:
            for id_ in one.ids:
                self._at(0.0, one, id_, None)

    def run(self) -> float:
        while self._due:
            due, _, replica, id_, running = heapq.heappop(self._due)
            self._clock.advance(max(due - self._clock.monotonic(), 0.0))
            if id_:
                self._waiting[replica.name].append((id_, running))
            else:
                self._free[replica.name] += 1
            self._work(replica)
        return self._clock.monotonic() - self._began

    def _work(self, replica: Replica) -> None:
        waiting = self._waiting[replica.name]
        while waiting and self._free[replica.name]:
            requests = self._step(replica, *waiting.popleft())
            if requests:
                self._free[replica.name] -= 1
                self._at(requests * LATENCY_SECONDS, replica, "", None)

    def _step(self, replica: Replica, id_: str, running: Pending | None) -> int:
        """Requests that it took."""
        client = replica.client
        try:
            if running is None:
                outcome = client.put(id_, API, BODY)
            else:
                outcome = client.poll(running.token, running.progress)
            if isinstance(outcome, Pending):
                self._at(outcome.delay_seconds, replica, id_, outcome)
                return 1
            client.get(id_, API)
        except ThrottledError as closed:
            self._at(closed.after_seconds, replica, id_, running)
            return 0
        except ArmError as error:
            self._at(error.retry_after_seconds or 1.0, replica, id_, running)
            return 1
        except RefusedError:
            self._at(1.0, replica, id_, running)
            return 1
        replica.ready.append(self._clock.monotonic() - self._began)
        return 2

    def _at(
        self, delay: float, replica: Replica, id_: str, running: Pending | None
    ) -> None:
        self._order += 1
        due = self._clock.monotonic() + delay
        heapq.heappush(self._due, (due, self._order, replica, id_, running))


def simulate(
    objects: int, replicas: int, workers: int, *, whole: bool, syncs: bool
) -> None:
    clock = FakeClock()
    azure = ArmServer(clock=clock, lro=OPERATION_SECONDS, throttle=True, page_size=1000)
    subscription = f"/subscriptions/{azure.subscription_id}"
    buckets = None if whole else Throttling(clock)
    names = [f"replica-{number}" for number in range(replicas)]
    made = [Replica(azure, clock, name, buckets) for name in names]
    for number in range(objects):
        one = made[number % replicas]
        group = f"{subscription}/resourceGroups/{one.name}-{len(one.ids) // IN_A_GROUP}"
        if whole and len(one.ids) % IN_A_GROUP == 0:
            azure.seed(group, {"location": "westeurope"})
        one.ids.append(f"{group}/providers/{TYPE}/net{number}")
    began = time.process_time()
    seconds = Estate(clock, made, workers).run()
    ready = sorted(at for one in made for at in one.ready)
    each = objects / replicas
    budget = max(0.0, (each - WRITES_AT_ONCE) / WRITES_A_SECOND) + OPERATION_SECONDS
    show(
        {
            "benchmark": "converge",
            "objects": objects,
            "replicas": replicas,
            "workers": workers,
            "client": "whole" if whole else "budget alone",
            "seconds": round(seconds, 1),
            "by_the_write_budget": round(budget, 1),
            "ready_p50": round(statistics.median(ready), 1),
            "ready_p99": round(ready[int(len(ready) * 0.99)], 1),
            "requests_an_object": round(
                sum(o.transport.sent for o in made) / objects, 2
            ),
            "refused": sum(one.transport.refused for one in made),
            "cpu_of_the_simulation": round(time.process_time() - began),
        }
    )
    if syncs and whole:
        sync(clock, made, objects)
    for one in made:
        one.client.close()


def sync(clock: FakeClock, replicas: list[Replica], objects: int) -> None:
    """Three periods of reads, the last one counted; due when the last sync says."""
    reads = {
        one.name: CollectionReads(clock, max_age_seconds=PERIOD_SECONDS / 2)
        for one in replicas
    }
    began = clock.monotonic()
    read: dict[str, float] = {}
    due: list[tuple[float, int, Replica, str]] = []
    order = 0
    for one in replicas:
        for number, id_ in enumerate(one.ids):
            at = began + PERIOD_SECONDS * number / len(one.ids)
            order += 1
            heapq.heappush(due, (at, order, one, id_))
    counted = 0
    ends = began + 4 * PERIOD_SECONDS
    while due and due[0][0] < ends:
        at, _, one, id_ = heapq.heappop(due)
        clock.advance(max(at - clock.monotonic(), 0.0))
        if not counted and clock.monotonic() >= ends - PERIOD_SECONDS:
            counted = sum(o.transport.sent for o in replicas)
        read[id_] = look(one, reads[one.name], read.get(id_), id_, clock)
        order += 1
        jitter = 0.75 + (order % 101) / 202
        heapq.heappush(due, (read[id_] + PERIOD_SECONDS * jitter, order, one, id_))
    sent = sum(one.transport.sent for one in replicas) - counted
    show(
        {
            "benchmark": "syncs of one period",
            "objects": objects,
            "replicas": len(replicas),
            "reads": sent,
            "reads_an_object": round(sent / objects, 3),
            "of_the_read_budget": round(
                sent / len(replicas) / (25 * PERIOD_SECONDS), 5
            ),
        }
    )


def look(
    one: Replica,
    reads: CollectionReads,
    read_at: float | None,
    id_: str,
    clock: FakeClock,
) -> float:
    now = clock.now().timestamp()
    age = clock.monotonic() - (read_at or 0.0)
    if read_at is not None and may_list(
        id_, age, period_seconds=PERIOD_SECONDS, now=now
    ):
        found = reads.entry(one.client, id_, API, credential="c", seen_at=read_at)
        if found is not None:
            return found.at
    one.client.get(id_, API)
    return clock.monotonic()


def memory(objects: int) -> None:
    """Bytes that an object keeps in a replica: in the cache, of its Azure resource, and
    in the queue until its next sync.
    """
    clock = FakeClock()
    memories, queue = ObjectMemories(), WorkQueue[ObjectKey]("bench", clock=clock)
    rows = {}
    gc.collect()
    tracemalloc.start()
    for number in range(objects):
        key = ObjectKey("default", f"net{number}")
        rows[key] = Entry(manifest(number)).row
        kept = memories.of(key, f"uid-{number}")
        kept.read_at = float(number)
        queue.add_after(key, PERIOD_SECONDS + number)
    gc.collect()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    show(
        {
            "benchmark": "memory",
            "objects": objects,
            "bytes_an_object": round(used / objects),
            "of_it_text": len(jsontext.dumps(manifest(0))),
        }
    )


def manifest(number: int) -> dict[str, Any]:
    """A network as the cluster has it once it is Ready, without managedFields."""
    id_ = f"/subscriptions/{uuid.UUID(int=7)}/resourceGroups/rg/providers/{TYPE}"
    subnets = [
        {"id": f"{id_}/net{number}/subnets/s{i}", "name": f"s{i}"} for i in range(4)
    ]
    spec = {
        "addressSpace": {"addressPrefixes": ["10.0.0.0/16"]},
        "owner": {"name": "rg"},
    }
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "Succeeded",
        "severity": "",
        "observedGeneration": 1,
        "lastTransitionTime": "2026-11-22T00:00:00Z",
    }
    return {
        "apiVersion": "network.azure.com/v20250301",
        "kind": "VirtualNetwork",
        "metadata": {
            "name": f"net{number}",
            "namespace": "default",
            "uid": str(uuid.UUID(int=number)),
            "resourceVersion": str(number),
            "generation": 1,
            "finalizers": ["serviceoperator.azure.com/finalizer"],
            "annotations": {
                "serviceoperator.azure.com/resource-id": f"{id_}/net{number}",
                "serviceoperator.azure.com/latest-reconciled-generation": "1",
                "serviceoperator.azure.com/operator-namespace": "azureserviceoperator",
            },
        },
        "spec": {**spec, "location": "westeurope", "subnets": subnets},
        "status": {**spec, "id": f"{id_}/net{number}", "subnets": subnets}
        | {"conditions": [ready], "etag": 'W/"1"', "tags": {"team": "red"}},
    }


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=numbers, default=[10, 100, 1_000, 10_000])
    parser.add_argument("--workers", type=numbers, default=[4])
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--whole", action="store_true", help="with the whole client")
    parser.add_argument("--syncs", action="store_true", help="and syncs, with --whole")
    options = parser.parse_args()
    for objects in options.objects:
        for workers in options.workers:
            simulate(
                objects,
                options.replicas,
                workers,
                whole=options.whole,
                syncs=options.syncs,
            )
    memory(10_000)


if __name__ == "__main__":
    main()
