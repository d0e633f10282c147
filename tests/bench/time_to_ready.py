"""Time to Ready above Azure's own time: one more beside N others, and N at once.

    hack/bench time-to-ready [--resources N] [--samples N] [--latency SECONDS]

Resource groups, which Azure makes in one PUT; the operator reads each once more. So
Azure's own time is two answers, and for N at once those of N groups over the workers of
a kind, one after the other. How long two answers take is measured first, in the same
run: plain `requests` asks the same of the simulator in as many threads. What is printed
is the time above that, seen by a watch.
"""

import heapq
import math
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import click
import requests
from main_job import GROUPS, LIMIT_SECONDS, Following, install, report

from asoreconcile.azure.cmd.local_cluster import AzureOptions, LocalCluster
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.kind_registry import resource_of
from asoreconcile.base.objects import key_of

_WORKERS = 4
_PAIRS = 40
_API = "2020-06-01"
_AUDIENCE = "https://management.core.windows.net/"


class Readiness(Following):
    """When each object was first seen Ready."""

    def __init__(self, client, resource):
        self.at = {}
        self._seen = threading.Condition()
        super().__init__(client, [resource])

    def _on(self, resource, event):
        super()._on(resource, event)
        if self._ready.get((resource.plural, event.key)):
            with self._seen:
                self.at.setdefault(event.key, time.perf_counter())
                self._seen.notify_all()

    def wait_for(self, keys):
        with self._seen:
            done = self._seen.wait_for(lambda: keys <= self.at.keys(), LIMIT_SECONDS)
        if not done:
            message = f"not Ready after {LIMIT_SECONDS:g} s"
            raise click.ClickException(message)


def group(name):
    return {
        "apiVersion": "resources.azure.com/v1api20200601",
        "kind": "ResourceGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"location": "westeurope"},
    }


def sign_in(world):
    """The endpoint of the simulated Azure, and a token for it."""
    settings, trusted = world.settings, str(world.folder / "azure-ca.pem")
    tenant = settings["AZURE_TENANT_ID"]
    audience = settings.get("AZURE_RESOURCE_MANAGER_AUDIENCE", _AUDIENCE).rstrip("/")
    asked = {
        "grant_type": "client_credentials",
        "client_id": settings["AZURE_CLIENT_ID"],
        "client_secret": settings["AZURE_CLIENT_SECRET"],
        "scope": f"{audience}/.default",
    }
    authority = settings["AZURE_AUTHORITY_HOST"].rstrip("/")
    url = f"{authority}/{tenant}/oauth2/v2.0/token"
    answer = requests.post(url, asked, verify=trusted, timeout=LIMIT_SECONDS)
    answer.raise_for_status()
    endpoint = settings["AZURE_RESOURCE_MANAGER_ENDPOINT"].rstrip("/")
    return endpoint, answer.json()["access_token"]


def floor(world):
    """Seconds that a PUT and a GET of a group take a plain client, as many at a time as
    there are workers; the first of each thread, which connects, left out.
    """
    trusted = str(world.folder / "azure-ca.pem")
    endpoint, token = sign_in(world)
    groups = f"{endpoint}/subscriptions/{world.settings['AZURE_SUBSCRIPTION_ID']}"
    took = []

    def ask(worker):
        with requests.Session() as session:
            session.trust_env, session.verify = False, trusted
            session.headers["Authorization"] = f"Bearer {token}"
            for number in range(_PAIRS + 1):
                url = f"{groups}/resourceGroups/floor-{worker}-{number}"
                began = time.perf_counter()
                for method, body in (
                    ("PUT", {"location": "westeurope"}),
                    ("GET", None),
                ):
                    session.request(
                        method,
                        f"{url}?api-version={_API}",
                        json=body,
                        timeout=LIMIT_SECONDS,
                    ).raise_for_status()
                if number:
                    took.append(time.perf_counter() - began)

    with ThreadPoolExecutor(_WORKERS) as pool:
        list(pool.map(ask, range(_WORKERS)))
    return statistics.mean(took)


def at_once(client, resource, readiness, *, count, answers):
    """Apply N together; seconds of each above an ideal of as many workers, which makes
    them in the order of their coming and loses no time in between.
    """
    created = []
    for number in range(count):
        obj = group(f"rg-{number}")
        client.create(resource, obj)
        created.append(time.perf_counter())
    keys = {key_of(group(f"rg-{n}")) for n in range(count)}
    readiness.wait_for(keys)
    free_at, ideal = [0.0] * _WORKERS, []
    for at in created:
        done = max(at, heapq.heappop(free_at)) + answers
        heapq.heappush(free_at, done)
        ideal.append(done)
    # Not all that is there: what is written after Ready shows the first one again.
    ready = sorted(readiness.at[key] for key in keys)
    return [real - best for real, best in zip(ready, sorted(ideal), strict=True)]


def one_by_one(client, resource, readiness, *, count, answers):
    """Apply one after the other; seconds of each above two answers."""
    above = []
    for number in range(count):
        obj = group(f"more-{number}")
        began = time.perf_counter()
        client.create(resource, obj)
        readiness.wait_for({key_of(obj)})
        took = readiness.at[key_of(obj)] - began
        above.append(took - answers)
    return above


def show(figure, above, **more):
    ordered = sorted(above)
    last = ordered[min(len(ordered) - 1, math.ceil(0.99 * len(ordered)) - 1)]
    report(f"{figure}: p50", round(statistics.median(ordered), 3), "s", **more)
    report(f"{figure}: p99", round(last, 3), "s", **more)


@click.command()
@click.option("--resources", default="1,100,1000", show_default=True)
@click.option("--samples", default=100, show_default=True, help="One by one.")
@click.option("--latency", default=0.05, show_default=True, help="Of ARM, seconds.")
def main(resources, samples, latency):
    """Time to Ready, measured."""
    kind = builtin().kind(GROUPS)
    resource = resource_of(kind.version())
    for count in map(int, resources.split(",")):
        azure = AzureOptions(latency=latency, lro=1.0, retry_after=1)
        with LocalCluster(azure) as world:
            install(world.client, [kind])
            world.start_manager()
            readiness = Readiness(world.client, resource)
            # The first pays for the connections and the token.
            world.client.create(resource, group("first"))
            readiness.wait_for({key_of(group("first"))})
            readiness.at.clear()
            options = {"answers": floor(world)}
            told = {"resources": count, "two_answers": round(options["answers"], 4)}
            above = at_once(world.client, resource, readiness, count=count, **options)
            show("above Azure's time, all at once", above, **told)
            above = one_by_one(
                world.client, resource, readiness, count=samples, **options
            )
            show("above Azure's time, one more", above, **told)
            readiness.stop()


if __name__ == "__main__":
    main()
