"""Time to Ready above Azure's own time: one more beside N others, and N at once.

    hack/bench time-to-ready [--resources N] [--samples N] [--latency SECONDS]

Resource groups, which Azure makes in one PUT; the operator reads each once more. So
Azure's own time is two answers, and for N at once those of N groups over the workers of
a kind, one after the other. What is printed is the time above that, seen by a watch.
"""

import heapq
import math
import statistics
import threading
import time

import click
from main_job import GROUPS, LIMIT_SECONDS, Following, install, report

from asoreconcile.cmd.surroundings import AzureOptions, Surroundings
from asoreconcile.controllers.catalogue import builtin
from asoreconcile.controllers.kind_set import resource_of
from asoreconcile.objects import key_of

_ANSWERS = 2
_WORKERS = 4


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


def at_once(client, resource, readiness, *, count, latency):
    """Apply N together; seconds of each above an ideal of as many workers, which makes
    them in the order of their coming and loses no time in between.
    """
    created = []
    for number in range(count):
        obj = group(f"rg-{number}")
        client.create(resource, obj)
        created.append(time.perf_counter())
    readiness.wait_for({key_of(group(f"rg-{n}")) for n in range(count)})
    free_at, ideal = [0.0] * _WORKERS, []
    for at in created:
        done = max(at, heapq.heappop(free_at)) + _ANSWERS * latency
        heapq.heappush(free_at, done)
        ideal.append(done)
    ready = sorted(readiness.at.values())
    return [real - best for real, best in zip(ready, sorted(ideal), strict=True)]


def one_by_one(client, resource, readiness, *, count, latency):
    """Apply one after the other; seconds of each above two answers."""
    above = []
    for number in range(count):
        obj = group(f"more-{number}")
        began = time.perf_counter()
        client.create(resource, obj)
        readiness.wait_for({key_of(obj)})
        took = readiness.at[key_of(obj)] - began
        above.append(took - _ANSWERS * latency)
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
        with Surroundings(azure) as world:
            install(world.client, [kind])
            world.start_manager()
            readiness = Readiness(world.client, resource)
            # The first pays for the connections and the token.
            world.client.create(resource, group("first"))
            readiness.wait_for({key_of(group("first"))})
            readiness.at.clear()
            told = {"resources": count, "latency": latency}
            options = {"latency": latency}
            above = at_once(world.client, resource, readiness, count=count, **options)
            show("above Azure's time, all at once", above, **told)
            above = one_by_one(
                world.client, resource, readiness, count=samples, **options
            )
            show("above Azure's time, one more", above, **told)
            readiness.stop()


if __name__ == "__main__":
    main()
