"""Whatever Azure, or who sits before it, answers: a condition, a later try, and
Ready.
"""

import pytest
from world import World, resource_group, virtual_network

from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.testing.http import HttpResponse

DEEP = b'{"error":' * 20_000 + b'{"code":"X"}' + b"}" * 20_000
BODIES = {
    "nothing": b"",
    "null": b"null",
    "list": b"[{}]",
    "number": b"5",
    "page": b"<html>busy</html>",
    "no-utf8": b"\xff\xfe{}",
    "mark": b"\xef\xbb\xbf{}",
    "too-deep": DEEP,
    "deep": b'{"error":' * 9000 + b'{"code":"X"}' + b"}" * 9000,
    "string-without-end": b"[" * 1100 + b'"' + rb"\"" * 30_000,
    "numbers": b'{"id":1e999,"properties":{"flowTimeoutInMinutes":1e300}}',
    "odd-parts": b'{"id":5,"name":[],"properties":[{}],"status":{},"error":[7]}',
    "odd-error": b'{"error":{"code":[],"message":{},"details":7,"innererror":[[]]}}',
    "odd-state": b'{"id":"/x","properties":{"provisioningState":{"a":[1]}}}',
}
HEADERS = {
    "Retry-After": "1e9",
    "x-ms-ratelimit-remaining-subscription-writes": "\xb2",
    "x-ms-ratelimit-remaining-subscription-reads": "-1",
    "Azure-AsyncOperation": "https://[broken/o",
    "Location": "https://evil.example/o",
    "Content-Type": "application/json",
}
HOUR = 3600.0


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=5.0, retry_after=1, budgeted=True) as running:
        running.install(
            "resources.azure.com/ResourceGroup", "network.azure.com/VirtualNetwork"
        )
        running.settled(resource_group())
        yield running


def passes(world, obj, count):
    """Passes of which each ends as one may, and says when the next is due."""
    for _ in range(count):
        before = len(world.azure.journal)
        try:
            after = world.run(obj).requeue_after_seconds or 0.0
        except AsoreconcileError as error:
            after = getattr(error, "after_seconds", 0.0)
        assert 0.0 <= after <= 2 * HOUR
        assert len(world.azure.journal) - before < 15
        world.clock.advance(after or 5.0)


# A success is read as a resource; all failures are read by one function.
RESOURCES = ("nothing", "null", "list", "numbers", "odd-parts", "odd-state", "too-deep")
FAILURES = ("page", "deep", "odd-parts", "odd-error")


@pytest.mark.parametrize(
    ("method", "status", "names"),
    [
        ("PUT", 200, tuple(BODIES)),
        ("GET", 200, RESOURCES),
        ("GET", 429, FAILURES),
        ("DELETE", 200, FAILURES),
        ("PUT", 429, ("odd-error",)),
        ("DELETE", 429, ("odd-error",)),
    ],
)
def test_l21_an_odd_answer_is_a_condition_and_heals(
    world, caplog, method, status, names
):
    for number, name in enumerate(names):
        body = BODIES[name]
        obj = virtual_network(f"vnet{number}")
        path = rf"(virtualNetworks/vnet{number}|operations/)"
        odd = HttpResponse(status, body, HEADERS)
        if method == "DELETE":
            world.settled(obj)
            world.delete(obj)
        else:
            world.apply(obj)
        world.azure.faults.respond(method, path, odd, times=3)
        passes(world, obj, 3)
        ready = world.ready(obj)
        assert ready is None or len(ready.get("message", "")) < 20_000, name
        world.azure.faults.clear()
        world.clock.advance(HOUR)  # as long as somebody asked to be left alone
        if method == "DELETE":
            for _ in range(10):
                if world.read(obj) is None:
                    break
                passes(world, obj, 1)
            assert world.read(obj) is None, name
        else:
            assert world.settle(obj, passes=30) is not None, name
    broken = [record for record in caplog.records if record.exc_info]
    assert [str(record.exc_info[1]) for record in broken] == []
