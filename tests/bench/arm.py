"""The ARM client: cost of a request and of a poll, and creates under Azure's throttling.

Claim: the client costs little more than the HTTP library below it, and thousands of
creates take hardly longer than Azure's token buckets demand, with next to no 429s.
Prints a JSON line a scenario:

    hack/bench arm [--requests N] [--creates N] [--only requests|polls|makespan]

Peers in the same run: requests, urllib3 and pycurl alone, and azure-mgmt-core's client
where it is installed. The simulator is a process of its own for the first two; the makespan runs on
a clock that both sides share, so its seconds are Azure's.
"""

import argparse
import heapq
import json
import logging
import os
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pycurl
import requests
import urllib3
from azure.core.credentials import AccessToken
from requests.adapters import HTTPAdapter

from asoreconcile.azure.arm.budget import Budget, ThrottledError
from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.collection_reads import CollectionReads
from asoreconcile.azure.arm.credentials import ClientSecret, CloudConfig
from asoreconcile.azure.arm.endpoint import Endpoint
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.outcomes import Pending
from asoreconcile.azure.arm.polling import polled
from asoreconcile.azure.arm.response import ArmResponse
from asoreconcile.azure.arm.tokens import RESOURCE, Token, TokenShape
from asoreconcile.azure.cmd.subprocesses import ChildProcess
from asoreconcile.base.clock import SystemClock
from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.clock import FakeClock

_ROUNDS = 3
_WORKERS = (1, 4, 16)
_API = "2024-05-01"
_BODY = {"location": "westeurope", "properties": {"addressSpace": {}}}
_LRO_SECONDS = 10.0
# Microsoft's: so many writes at once, then so many a second.
_BURST, _REFILL = 200, 10.0
Ask = Callable[[], object]


def report(benchmark: str, **figures: object) -> None:
    print(json.dumps({"benchmark": f"arm: {benchmark}", **figures}), flush=True)  # noqa: T201


class Azure:
    """The simulator's process, one resource in it, and a token."""

    def __init__(self, values: dict[str, str], bundle: str) -> None:
        self.url = values["AZURE_RESOURCE_MANAGER_ENDPOINT"]
        self.bundle = bundle
        cloud = CloudConfig(
            authority_host=values["AZURE_AUTHORITY_HOST"], endpoint=self.url
        )
        source = ClientSecret(
            values["AZURE_TENANT_ID"],
            values["AZURE_CLIENT_ID"],
            values["AZURE_CLIENT_SECRET"],
            cloud=cloud,
        )
        self.token = source.credential().get_token(cloud.scope)
        group = f"/subscriptions/{values['AZURE_SUBSCRIPTION_ID']}/resourceGroups/rg"
        self.id = f"{group}/providers/Microsoft.Network/virtualNetworks/v"
        client = self.client()
        client.put(group, _API, {"location": "westeurope"})
        client.put(self.id, _API, _BODY)
        client.close()

    def get_token(self, *_scopes: str, **_options: Any) -> AccessToken:
        return self.token

    def client(self, connections: int = 1) -> ArmClient:
        return ArmClient(
            self.url,
            self,
            scope="s",
            clock=SystemClock(),
            connections=connections,
        )


@contextmanager
def running() -> Iterator[Azure]:
    with tempfile.TemporaryDirectory() as name:
        settings, bundle = Path(name, "azure.env"), Path(name, "ca.pem")
        child = ChildProcess(
            ["testserver", "arm", f"--settings-out={settings}", f"--ca-out={bundle}"],
            environment={},
            log_path=Path(name, "log"),
        )
        try:
            child.wait_for_file(settings, 30)
            lines = settings.read_text().splitlines()
            os.environ["REQUESTS_CA_BUNDLE"] = str(bundle)
            yield Azure(dict(line.split("=", 1) for line in lines), str(bundle))
        finally:
            child.end()


def ours(azure: Azure, workers: int) -> Ask:
    client = azure.client(workers)
    return lambda: client.get(azure.id, _API)


def plain(azure: Azure, workers: int) -> Ask:
    session = requests.Session()
    session.trust_env = False
    session.verify = azure.bundle
    session.headers["Authorization"] = f"Bearer {azure.token.token}"
    session.mount("https://", HTTPAdapter(pool_maxsize=workers))
    url = f"{azure.url}{azure.id}?api-version={_API}"
    return lambda: session.get(url, timeout=90).json()


def pooled(azure: Azure, workers: int) -> Ask:
    pool = urllib3.PoolManager(maxsize=workers, ca_certs=azure.bundle, retries=False)
    headers = {"Authorization": f"Bearer {azure.token.token}"}
    url = f"{azure.url}{azure.id}?api-version={_API}"
    return lambda: pool.request("GET", url, headers=headers).json()


def curl(azure: Azure, workers: int) -> Ask:
    """libcurl with nothing around it."""
    threads = threading.local()
    url = f"{azure.url}{azure.id}?api-version={_API}"

    def ask() -> object:
        handle = getattr(threads, "handle", None)
        if handle is None:
            handle = threads.handle = pycurl.Curl()
            handle.setopt(pycurl.NOSIGNAL, 1)
            handle.setopt(pycurl.CAINFO, azure.bundle)
            handle.setopt(
                pycurl.HTTPHEADER, [f"Authorization: Bearer {azure.token.token}"]
            )
            handle.setopt(pycurl.URL, url)
        return json.loads(handle.perform_rb())

    return ask


def management(azure: Azure, workers: int) -> Ask:
    """azure-mgmt-core's client as its generated libraries use it."""
    from azure.core.configuration import Configuration
    from azure.core.pipeline import policies
    from azure.core.pipeline.transport import RequestsTransport
    from azure.core.rest import HttpRequest
    from azure.mgmt.core import ARMPipelineClient
    from azure.mgmt.core.policies import ARMChallengeAuthenticationPolicy

    config: Configuration[Any, Any] = Configuration()
    config.user_agent_policy = policies.UserAgentPolicy()
    config.headers_policy = policies.HeadersPolicy()
    config.proxy_policy = policies.ProxyPolicy()
    config.logging_policy = policies.NetworkTraceLoggingPolicy()
    config.request_id_policy = policies.RequestIdPolicy()
    config.retry_policy = policies.RetryPolicy()
    config.redirect_policy = policies.RedirectPolicy()
    config.custom_hook_policy = policies.CustomHookPolicy()
    config.authentication_policy = ARMChallengeAuthenticationPolicy(azure, "s")
    session = requests.Session()
    session.mount("https://", HTTPAdapter(pool_maxsize=workers))
    client = ARMPipelineClient(
        base_url=azure.url, config=config, transport=RequestsTransport(session=session)
    )
    url = f"{azure.url}{azure.id}?api-version={_API}"

    return lambda: client.send_request(HttpRequest("GET", url)).json()


def measured(ask: Ask, workers: int, count: int) -> tuple[float, float]:
    """CPU microseconds a request, and requests a second; medians of some rounds."""
    ask()
    cpu, rate = [], []
    for _ in range(_ROUNDS):
        began, used = time.perf_counter(), time.process_time()
        threads = [
            threading.Thread(target=lambda: [ask() for _ in range(count // workers)])
            for _ in range(workers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        cpu.append((time.process_time() - used) / count * 1e6)
        rate.append(count / (time.perf_counter() - began))
    return statistics.median(cpu), statistics.median(rate)


def bench_requests(azure: Azure, count: int) -> None:
    peers = {
        "requests": plain,
        "urllib3": pooled,
        "pycurl": curl,
        "asoreconcile": ours,
        "azure-mgmt-core": management,
    }
    for workers in _WORKERS:
        base = 0.0
        for name, make in peers.items():
            try:
                ask = make(azure, workers)
            except ImportError:
                report("requests", client=name, skipped="it is not installed")
                continue
            cpu, rate = measured(ask, workers, count)
            base = base or cpu
            report(
                "requests",
                client=name,
                workers=workers,
                cpu_us_per_request=round(cpu),
                requests_per_second=round(rate),
                cpu_ratio_to_requests=round(cpu / base, 2),
            )


def bench_polls(azure: Azure, count: int) -> None:
    """A poll beside a GET of the same URL, and the decision alone."""
    url = f"{azure.url}{azure.id}?api-version={_API}"
    client, token = azure.client(), Token(TokenShape.BODY, RESOURCE, url, "Updating")
    poll, _ = measured(lambda: client.poll(token), 1, count)
    get, _ = measured(plain(azure, 1), 1, count)
    endpoint, answer = Endpoint(azure.url), b'{"status": "InProgress"}'
    watched = Token(TokenShape.ASYNC, RESOURCE, url, "InProgress", original_url=url)
    headers = {"retry-after": "10", "azure-asyncoperation": url}
    decide, _ = measured(
        lambda: polled(watched, ArmResponse(200, headers, answer), endpoint=endpoint),
        1,
        count * 10,
    )
    report(
        "polls",
        cpu_us_per_poll=round(poll),
        cpu_us_per_plain_get=round(get),
        cpu_us_of_the_decision=round(decide, 1),
    )


class Estate:
    """Creates and what becomes of them, each step at its time on one shared clock."""

    def __init__(self, azure: ArmServer, client: ArmClient, clock: FakeClock) -> None:
        self._azure, self._client, self._clock = azure, client, clock
        self._due: list[tuple[float, int, str, Pending | None]] = []
        self._looked: set[str] = set()
        self._reads = CollectionReads(clock, max_age_seconds=600.0)
        self._order = 0
        self.done = 0

    def run(self, ids: list[str]) -> float:
        """Seconds on the clock until all exist."""
        began = self._clock.monotonic()
        for id_ in ids:
            self._at(0.0, id_, None)
        while self._due:
            due, _, id_, running = heapq.heappop(self._due)
            self._clock.advance(max(due - self._clock.monotonic(), 0.0))
            self._step(id_, running)
        return self._clock.monotonic() - began

    def _step(self, id_: str, running: Pending | None) -> None:
        try:
            if running is None:
                self._look(id_)
                outcome = self._client.put(id_, _API, _BODY)
            else:
                outcome = self._client.poll(running.token, running.progress)
            if isinstance(outcome, Pending):
                self._at(outcome.delay_seconds, id_, outcome)
                return
            self._client.get(id_, _API)
            self.done += 1
        except ThrottledError as closed:
            self._at(closed.after_seconds, id_, running)
        except ArmError as error:
            self._at(error.retry_after_seconds or 1.0, id_, running)

    def _look(self, id_: str) -> None:
        """Ask once whether the resource is there, as the operator does (OW-1)."""
        if id_ in self._looked:
            return
        if not self._reads.says_absent(
            self._client, id_, _API, credential="", since=-1.0
        ):
            try:
                self._client.get(id_, _API)
            except ArmError as error:
                if not error.is_not_found:
                    raise
        self._looked.add(id_)

    def _at(self, delay_seconds: float, id_: str, running: Pending | None) -> None:
        self._order += 1
        due = self._clock.monotonic() + delay_seconds
        heapq.heappush(self._due, (due, self._order, id_, running))


def bench_makespan(creates: int, *, paced: bool) -> None:
    clock = FakeClock()
    with (
        ArmServer(clock=clock, lro=_LRO_SECONDS, throttle=True) as azure,
        tempfile.TemporaryDirectory() as folder,
    ):
        azure.write_ca(Path(folder, "ca.pem"))
        os.environ["REQUESTS_CA_BUNDLE"] = str(Path(folder, "ca.pem"))
        token = AccessToken(azure.entra.issue(azure.client_id), 1 << 40)
        identity = type("SignedIn", (), {"get_token": lambda *_, **__: token})()
        client = ArmClient(
            azure.url,
            identity,
            scope="s",
            clock=clock,
            budget=Budget(clock) if paced else None,
        )
        group = f"/subscriptions/{azure.subscription_id}/resourceGroups/rg"
        azure.seed(group, {"location": "westeurope"})
        network = f"{group}/providers/Microsoft.Network/virtualNetworks"
        estate = Estate(azure, client, clock)
        seconds = estate.run([f"{network}/v{number}" for number in range(creates)])
        client.close()
        statuses = Counter(entry.status for entry in azure.journal)
    ideal = max(creates - _BURST, 0) / _REFILL + _LRO_SECONDS
    report(
        f"{creates} creates",
        budget="asoreconcile's" if paced else "none, Retry-After obeyed",
        azure_seconds=round(seconds),
        ideal_seconds=round(ideal),
        ratio_to_ideal=round(seconds / ideal, 3),
        requests=sum(statuses.values()),
        answers_429_percent=round(100 * statuses[429] / sum(statuses.values()), 2),
        made=estate.done,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="hack/bench arm")
    parser.add_argument("--requests", type=int, default=2000, help="a round")
    parser.add_argument("--creates", type=int, default=5000)
    parser.add_argument("--only", choices=("requests", "polls", "makespan"))
    options = parser.parse_args()
    logging.disable()
    if options.only != "makespan":
        with running() as azure:
            if options.only != "polls":
                bench_requests(azure, options.requests)
            if options.only != "requests":
                bench_polls(azure, options.requests)
    if options.only in (None, "makespan"):
        # Without a budget nearly all requests are refused ones: a few creates show it.
        bench_makespan(options.creates, paced=True)
        bench_makespan(min(options.creates, 500), paced=True)
        bench_makespan(min(options.creates, 500), paced=False)


if __name__ == "__main__":
    main()
