"""Five owners in a row, applied last first: each step is made because of an event.

Time says nothing on a busy machine; the log says which event woke whom.
"""

import itertools
import json
import os
import threading
import time
from contextlib import ExitStack, contextmanager, nullcontext
from copy import deepcopy
from unittest import mock

from operation import NAMESPACE, WAIT_SECONDS, Operation, resource_for
from world import resource_group

from asoreconcile.azure.controllers import azure_operator, settings
from asoreconcile.azure.controllers.options import Options
from asoreconcile.azure.reconcile.model.annotations import OPERATOR_NAMESPACE
from asoreconcile.base.objects import gvk_of, key_of
from asoreconcile.kube.resources import NAMESPACES
from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.clock import FakeClock

IP = {
    "apiVersion": "network.azure.com/v1api20240301",
    "kind": "PublicIPAddress",
    "metadata": {"name": "ip"},
    "spec": {
        "owner": {"name": "rg"},
        "location": "westeurope",
        "sku": {"name": "Standard"},
        "publicIPAllocationMethod": "Static",
    },
}
GATEWAY = {
    "apiVersion": "network.azure.com/v1api20240301",
    "kind": "NatGateway",
    "metadata": {"name": "gateway"},
    "spec": {
        "owner": {"name": "rg"},
        "location": "westeurope",
        "sku": {"name": "Standard"},
        "publicIpAddresses": [
            {
                "reference": {
                    "group": "network.azure.com",
                    "kind": "PublicIPAddress",
                    "name": "ip",
                }
            }
        ],
    },
}
GROUP_KIND = {
    "group": "servicebus.azure.com",
    "kind": "NamespacesTopicsSubscriptionsRule",
}
CHAIN = (
    ("Namespace", "bus-2026"),
    ("NamespacesTopic", "orders"),
    ("NamespacesTopicsSubscription", "billing"),
    ("NamespacesTopicsSubscriptionsRule", "large"),
)


def chain():
    """A resource group, four levels of a Service Bus, and a role on the last."""
    found, owner = [resource_group()], "rg"
    for kind, name in CHAIN:
        found.append(
            {
                "apiVersion": "servicebus.azure.com/v1api20240101",
                "kind": kind,
                "metadata": {"name": name},
                "spec": {"owner": {"name": owner}},
            }
        )
        owner = name
    found[1]["spec"]["location"] = "westeurope"
    found.append(
        {
            "apiVersion": "authorization.azure.com/v20220401",
            "kind": "RoleAssignment",
            "metadata": {"name": "reads"},
            "spec": {
                "owner": {**GROUP_KIND, "name": owner},
                "principalId": "00000000-0000-4000-8000-000000000001",
                "roleDefinitionReference": {"wellKnownName": "Reader"},
            },
        }
    )
    return found


def test_d13_five_owners_in_reverse_order_wait_for_no_timer(tmp_path):
    objs = chain()
    with Operation(tmp_path) as operation:
        operation.install(*objs)
        operation.start_manager("--verbose")
        for obj in reversed(objs):
            operation.apply(obj)
            operation.wait_for(obj, lambda found: "status" in (found or {}))
        operation.wait_ready(objs[-1])
        lines = [json.loads(line) for line in operation.logs().splitlines()]
    for owner, child in itertools.pairwise(objs):
        steps = [step for line in lines if (step := step_of(line, child))]
        assert steps[0] == "WaitingForOwner", steps
        because = f"{owner['kind']} default/{owner['metadata']['name']}"
        assert steps[steps.index("Claiming") - 1] == because, steps


def step_of(line, obj):
    """What a line of the log says of an object: woken by whom, failed why, claimed."""
    kind = str(gvk_of(obj).group_kind)
    if (line.get("controllerKind"), line.get("name")) != (kind, key_of(obj).name):
        return None
    match line["message"]:
        case "Waking":
            return line["because"]
        case "Reconcile failed":
            return line["reason"]
        case "Claiming":
            return "Claiming"
    return None


def test_d13_the_chain_is_made_while_the_clock_stands_still(tmp_path):
    """No timer can fire: events alone bring the last of the chain to Ready."""
    clock, objs = FakeClock(), [*chain(), resource_group("other")]
    azure = ArmServer(clock=clock)
    azure.styles.change("Microsoft.ServiceBus/namespaces", create="201 Succeeded")
    for obj in objs:
        # Marked already: marking takes a pass of its own, and its timer.
        obj["metadata"]["annotations"] = {OPERATOR_NAMESPACE: NAMESPACE}
    with ExitStack() as stack:
        operation = stack.enter_context(Operation(tmp_path, azure=azure))
        operation.install(*objs)
        # The record key is kept in the operator's namespace.
        operation.client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        stack.enter_context(running(operation, clock))
        for obj in reversed(objs[1:]):
            operation.apply(obj)
        for obj in objs[1:]:
            until_looked_at(operation, obj, clock)
        began = clock.monotonic()
        operation.apply(objs[0])
        for obj in objs:
            operation.wait_ready(obj)
    assert clock.monotonic() == began


def until_looked_at(operation, obj, clock):
    """Move the clock until an object has a condition: its kind is at work then."""
    limit = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < limit:
        found = operation.client.get(resource_for(obj), key_of(obj))
        if found.get("status"):
            return
        clock.advance(0.01)
    message = f"nobody looks at {key_of(obj)}"
    raise AssertionError(message)


@contextmanager
def running(operation, clock):
    """The operator on a thread of this process, by a clock of the test's."""
    environment = operation.environment()
    trust = {"REQUESTS_CA_BUNDLE": environment["REQUESTS_CA_BUNDLE"]}
    with (
        mock.patch.dict(os.environ, trust),
        mock.patch("asoreconcile.runtime.application.stop_signals", nullcontext),
    ):
        operator = azure_operator.AzureOperator(
            settings.from_environment(environment),
            Options(kubeconfig=environment["KUBECONFIG"]),
            clock=clock,
        )
        thread = threading.Thread(target=operator.run)
        thread.start()
        try:
            yield
        finally:
            operator.stop()
            thread.join()


def test_d13_a_target_that_gets_ready_beside_a_put_costs_no_request(tmp_path):
    """Its id was all that the PUT needed."""
    group, ip, gateway = resource_group(), deepcopy(IP), deepcopy(GATEWAY)
    with Operation(tmp_path) as operation:
        operation.answer_at_once("Network/publicIPAddresses", "Network/natGateways")
        operation.install(group, ip, gateway)
        holds = [
            operation.azure.faults.hold(method="PUT", path=path)
            for path in ("/publicIPAddresses/", "/natGateways/")
        ]
        for obj in (group, ip, gateway):
            operation.apply(obj)
        operation.start_manager(AZURE_SYNC_PERIOD="never")
        for hold, obj in zip(holds, (ip, gateway), strict=True):
            assert hold.wait_arrived(WAIT_SECONDS)
            hold.release()
            operation.wait_ready(obj)
        # Time for what should not come: whatever was queued before it is through.
        other = resource_group("other")
        operation.apply(other)
        operation.wait_ready(other)
        operation.edit(gateway, {"spec": {"idleTimeoutInMinutes": 10}})
        operation.wait_ready(gateway)
        methods = [r.method for r in operation.azure.journal if "/natG" in r.path]
    # A PUT keeps foreign tags, so a read comes before it.
    assert methods == ["GET", "PUT", "GET", "GET", "PUT", "GET"]
