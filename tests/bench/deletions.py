"""N resource groups and their networks deleted at once, or one after the other.

    hack/bench deletions [--pairs N] [--workers 4,8,16] [--rate 0,30]
                         [--throttle [--settle SECONDS]]

Beside each run, in the same process of the simulator, what Azure itself takes: plain
`requests` in as many threads a kind as there are workers, which asks what the operator
asks (a GET, the DELETE, and the monitor when `Retry-After` says so), in the order of
coming, and writes nothing to a cluster. With a rate, so many objects are deleted a
second, as a client with a limit of its own does; 0 deletes all at once. With --throttle
Azure refuses what exceeds its buckets, and plain requests, which know none, are left
out: 400 reads need 6 s, as 250 go at once and 25 more a second.
"""

import heapq
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import click
import requests
from main_job import (
    GROUPS,
    LIMIT_SECONDS,
    NETWORKS,
    Following,
    cpu_seconds,
    free_port,
    install,
    manifests,
    report,
    spread,
    wait_until_ready,
)
from time_to_ready import sign_in

from asoreconcile.azure.cmd.local_cluster import AzureOptions, LocalCluster
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.kind_registry import resource_of
from asoreconcile.base.objects import key_of

_SPACE = {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}}
_ENDED = ("Succeeded", "Failed", "Canceled")


class Line:
    """What a kind's threads do next: the earliest first, none before its time."""

    def __init__(self, resources):
        self._changed = threading.Condition()
        self._steps, self._left = [], len(resources)
        self.begun, self.gone = {}, {}

    def put(self, at, number, monitor):
        with self._changed:
            if monitor is None:
                self.begun[number] = at
            heapq.heappush(self._steps, (at, number, monitor))
            self._changed.notify()

    def end(self, number):
        with self._changed:
            self.gone[number] = time.perf_counter()
            self._left -= 1
            self._changed.notify_all()

    def take(self):
        """The next step, a number and its monitor; None when all are gone."""
        with self._changed:
            while self._left:
                wait = LIMIT_SECONDS
                if self._steps:
                    wait = self._steps[0][0] - time.perf_counter()
                    if wait <= 0:
                        return heapq.heappop(self._steps)[1:]
                self._changed.wait(wait)
            return None


def step(session, url, monitor):
    """GET and DELETE, or one poll: the monitor and its seconds, None once gone."""
    if monitor is None:
        if session.get(url).status_code == requests.codes.not_found:
            return None
        answer = session.delete(url)
    else:
        answer = session.get(monitor)
    answer.raise_for_status()
    headers = answer.headers
    if answer.status_code != requests.codes.accepted:
        said = answer.json().get("status") if answer.content else None
        # A monitor of the other style answers 200 only in the end, and without a word.
        if monitor is None or said is None or said in _ENDED:
            return None
    found = headers.get("Azure-AsyncOperation") or headers.get("Location") or monitor
    return found, float(headers.get("Retry-After", "1"))


def make(sessions, groups, networks):
    """The resources in Azure, their operations ended."""

    def put(task):
        session, url, body = task
        session.put(url, json=body).raise_for_status()
        while session.get(url).json()["properties"]["provisioningState"] in (
            "Updating",
            "Creating",
        ):
            time.sleep(0.2)

    plain, placed = {"location": "westeurope"}, {"properties": _SPACE}
    for urls, body in ((groups, plain), (networks, plain | placed)):
        tasks = [
            (sessions[number % len(sessions)], url, body)
            for number, url in enumerate(urls)
        ]
        # A session for each thread: one task of each at a time.
        by_session = [tasks[start :: len(sessions)] for start in range(len(sessions))]
        with ThreadPoolExecutor(len(sessions)) as pool:
            list(pool.map(lambda mine: [put(one) for one in mine], by_session))


@contextmanager
def plain_sessions(world, count):
    endpoint, token = sign_in(world)
    sessions = [requests.Session() for _ in range(count)]
    for session in sessions:
        session.trust_env = False
        session.verify = str(world.folder / "azure-ca.pem")
        session.headers["Authorization"] = f"Bearer {token}"
    try:
        yield (
            f"{endpoint}/subscriptions/{world.settings['AZURE_SUBSCRIPTION_ID']}",
            (sessions),
        )
    finally:
        for session in sessions:
            session.close()


def plainly(world, pairs, workers, rate):
    """When plain requests began and ended each deletion."""
    with plain_sessions(world, 2 * workers) as (base, sessions):
        parents = [f"{base}/resourceGroups/plain-{number}" for number in range(pairs)]
        groups = [f"{url}?api-version=2020-06-01" for url in parents]
        networks = [
            f"{url}/providers/Microsoft.Network/virtualNetworks/net"
            "?api-version=2025-03-01"
            for url in parents
        ]
        make(sessions, groups, networks)
        lines = [(urls, Line(urls)) for urls in (groups, networks)]

        def work(session, urls, line):
            while (taken := line.take()) is not None:
                number, monitor = taken
                left = step(session, urls[number], monitor)
                if left is None:
                    line.end(number)
                else:
                    line.put(time.perf_counter() + left[1], number, left[0])

        with ThreadPoolExecutor(2 * workers) as pool:
            mine = [line for line in lines for _ in range(workers)]
            done = [
                pool.submit(work, session, *line)
                for session, line in zip(sessions, mine, strict=True)
            ]
            for order, number in enumerate(sorted([*range(pairs)] * 2)):
                _pace(rate)
                lines[order % 2][1].put(time.perf_counter(), number, None)
            for one in done:
                one.result()
    began = {(i, n): at for i, (_, o) in enumerate(lines) for n, at in o.begun.items()}
    gone = {(i, n): at for i, (_, o) in enumerate(lines) for n, at in o.gone.items()}
    return began, gone


def by_operator(world, resources, objs, rate, settle):
    """When each object was applied, Ready, deleted, and gone."""
    following = Following(world.client, resources.values())
    applied, deleted = {}, {}
    for obj in objs:
        resource = resources[obj["kind"]]
        applied[resource.plural, key_of(obj)] = time.perf_counter()
        world.client.create(resource, obj)
    following.wait(lambda ready: len(ready) == len(objs) and all(ready))
    time.sleep(settle)
    for obj in objs:
        _pace(rate)
        resource = resources[obj["kind"]]
        deleted[resource.plural, key_of(obj)] = time.perf_counter()
        world.client.delete(resource, key_of(obj))
    following.wait(lambda ready: not ready)
    following.stop()
    return (applied, following.became_ready), (deleted, following.was_gone)


def _pace(rate):
    if rate:
        time.sleep(1 / rate)


def show(figure, began, gone, **more):
    total = max(gone.values()) - min(began.values())
    report(f"{figure}: all", round(total, 2), "s", **more)
    spread(figure, began, gone)


@click.command()
@click.option("--pairs", default=100, show_default=True, help="Groups, and networks.")
@click.option("--workers", default="4,8,16", show_default=True, help="Of each kind.")
@click.option("--rate", default="0,30", show_default=True, help="Deleted a second.")
@click.option("--latency", default=0.05, show_default=True, help="Of ARM, seconds.")
@click.option("--lro", default=1.0, show_default=True, help="Of operations, seconds.")
@click.option("--retry-after", default=1, show_default=True, help="Seconds.")
@click.option("--throttle", is_flag=True, help="By Azure's token buckets.")
@click.option("--settle", default=0.0, show_default=True, help="Before the deletion.")
def main(pairs, workers, rate, latency, lro, retry_after, throttle, settle):
    """Deletions, beside what plain requests take."""
    kinds = [builtin().kind(GROUPS), builtin().kind(NETWORKS)]
    resources = {kind.group_kind.kind: resource_of(kind.version()) for kind in kinds}
    for count in map(int, workers.split(",")):
        health = free_port()
        azure = AzureOptions(latency, lro, retry_after, throttle)
        with LocalCluster(azure) as world:
            install(world.client, kinds)
            manager = world.start_manager(
                *("--health-addr", f"127.0.0.1:{health}"),
                environment={"MAX_CONCURRENT_RECONCILES": str(count)},
            )
            wait_until_ready(health, world.check)
            for one in map(float, rate.split(",")):
                more = {"workers": count, "rate": one}
                objs = list(manifests(pairs))
                used = cpu_seconds(manager.pid)
                made, ended = by_operator(world, resources, objs, one, settle)
                show("Ready", *made, **more)
                show("gone", *ended, **more)
                used = cpu_seconds(manager.pid) - used
                report("CPU of their lives", round(used, 2), "s", **more)
                if not throttle:
                    show("plain requests", *plainly(world, pairs, count, one), **more)


if __name__ == "__main__":
    main()
