"""Five owners in a row, applied last first: time to Ready of the last above Azure's own.

    hack/bench owner-chain [--rounds N] [--latency SECONDS]

A resource group, four levels of a Service Bus, a role on the last. Each waits for the
one before, so Azure's own time is all its answers one after the other, and the seconds
it asked to wait before a poll; the rest is the operator's. Back-off timers begin at 1 s.
"""

import statistics
import time

import click
from main_job import Following, install, report

from asoreconcile.azure.cmd.local_cluster import AzureOptions, LocalCluster
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.kind_registry import resource_of
from asoreconcile.base.objects import gvk_of

_BUS = "servicebus.azure.com/v1api20240101"
_RETRY_AFTER_SECONDS = 1


def chain(number):
    """The objects of one chain, first owner first."""
    levels = (
        ("resources.azure.com/v1api20200601", "ResourceGroup", {}),
        (_BUS, "Namespace", {"location": "westeurope"}),
        (_BUS, "NamespacesTopic", {}),
        (_BUS, "NamespacesTopicsSubscription", {}),
        (_BUS, "NamespacesTopicsSubscriptionsRule", {}),
        (
            "authorization.azure.com/v20220401",
            "RoleAssignment",
            {
                "principalId": "00000000-0000-4000-8000-000000000001",
                "roleDefinitionReference": {"wellKnownName": "Reader"},
            },
        ),
    )
    found = []
    for version, kind, spec in levels:
        owner = found[-1] if found else None
        found.append(
            {
                "apiVersion": version,
                "kind": kind,
                "metadata": {
                    "name": f"chain{number}-{len(found)}",
                    "namespace": "default",
                },
                "spec": {**spec, **_owner(owner, kind)},
            }
        )
    found[0]["spec"]["location"] = "westeurope"
    return found


def _owner(owner, kind):
    if owner is None:
        return {}
    name = {"name": owner["metadata"]["name"]}
    if kind == "RoleAssignment":
        of = gvk_of(owner).group_kind
        return {"owner": {"group": of.group, "kind": of.kind, **name}}
    return {"owner": name}


@click.command()
@click.option("--rounds", default=10, show_default=True)
@click.option("--latency", default=0.05, show_default=True, help="Of ARM, seconds.")
def main(rounds, latency):
    """Chains of owners, measured."""
    kinds = [builtin().kind(gvk_of(obj).group_kind) for obj in chain(0)]
    resources = {k.group_kind.kind: resource_of(k.version()) for k in kinds}
    azure = AzureOptions(latency=latency, lro=0.0, retry_after=_RETRY_AFTER_SECONDS)
    above = []
    with LocalCluster(azure) as world:
        install(world.client, kinds)
        world.start_manager()
        following = Following(world.client, resources.values())
        for number in range(rounds + 1):
            objs = chain(number)
            before = world.azure("counts")
            began = time.perf_counter()
            for obj in reversed(objs):
                world.client.create(resources[obj["kind"]], obj)
            ready = (number + 1) * len(objs)
            following.wait(lambda seen, n=ready: len(seen) == n and all(seen))
            took = time.perf_counter() - began
            after = world.azure("counts")
            if number:  # the first pays for connections and the token
                above.append(took - _floor(before, after, latency))
        following.stop()
    told = {"owners": 5, "rounds": rounds, "latency": latency}
    median = statistics.median(above)
    report("chain of owners above Azure's time: p50", round(median, 3), "s", **told)
    report("chain of owners above Azure's time: max", round(max(above), 3), "s", **told)


def _floor(before, after, latency):
    requests = after["requests"] - before["requests"]
    polls = after["byPurpose"].get("poll", 0) - before["byPurpose"].get("poll", 0)
    return requests * latency + polls * _RETRY_AFTER_SECONDS


if __name__ == "__main__":
    main()
