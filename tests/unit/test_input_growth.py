"""Twice as long an input takes at most three times as long, for each kind of input that
others make.

The times are of the thread's own clock, the least of a few tries; calls that are fast
at the full size are not compared.
"""

import random
from collections.abc import Callable
from functools import partial

import pytest
import textgrowth

from asoreconcile.azure.arm import error_body, ids
from asoreconcile.azure.arm.response import ArmResponse, BrokenBodyError
from asoreconcile.azure.catalogue.validation import rule_problems
from asoreconcile.azure.controllers.admission import dropped_fields
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.expressions.rebalance import balanced
from asoreconcile.azure.reconcile.model.differences import changed_paths, differences
from asoreconcile.azure.reconcile.model.maintenance_windows import (
    WindowError,
    parse_windows,
)
from asoreconcile.azure.reconcile.model.never_shown import what_differs
from asoreconcile.azure.reconcile.model.normalization import is_same
from asoreconcile.base import jsontext
from asoreconcile.base.json_size import JsonSizeError, NoJsonError, check_size
from asoreconcile.base.objects import GroupVersionKind
from asoreconcile.base.printable import printable
from asoreconcile.redaction import SecretRegistry

MOST_RATIO = 3.0
FAST_SECONDS = 0.02
SIZE = 1500
NETWORK = GroupVersionKind("network.azure.com", "v1api20240301", "VirtualNetwork")
APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
REFUSED = (
    BrokenBodyError,
    JsonSizeError,
    NoJsonError,
    WindowError,
    jsontext.JSONDecodeError,
)


def json(text: Callable[[int], bytes]) -> Callable[[int], object]:
    return lambda n: jsontext.loads(text(n))


def subnets(n: int, *, third: int = 0, named: bool = True) -> dict[str, object]:
    found = [
        {
            **({"name": f"s{i}"} if named else {}),
            "properties": {"addressPrefix": f"10.{i}.{third}"},
        }
        for i in range(n)
    ]
    return {"properties": {"subnets": found}}


def missing(n: int) -> object:
    body = {"tags": {str(i): "x" for i in range(n)}}
    found = differences(body, {"tags": {}})
    return what_differs(builtin().version(NETWORK), body, {}, found)


def secrets() -> SecretRegistry:
    seeded, registry = random.Random(1), SecretRegistry()
    for _ in range(50):
        registry.register("".join(seeded.choices("abcdefghij0123456789", k=40)))
    registry.register("a" * 16 + "b")
    return registry


def spec_problems(n: int) -> object:
    exports = {str(i): {"name": "x", "key": "y"} for i in range(n)}
    spec = {
        "owner": {"name": "x"},
        "subnets": [{"name": "a", "reference": {"armId": "/s"}}] * n,
        "operatorSpec": {"configMaps": exports},
    }
    return rule_problems(builtin().version(NETWORK), {"spec": spec})


def dropped(n: int) -> object:
    written = {
        "apiVersion": NETWORK.api_version,
        "kind": NETWORK.kind,
        "spec": {f"addressSpac{i}": 1 for i in range(n)},
    }
    notes = {APPLIED: jsontext.dumps(written).decode()}
    return dropped_fields(builtin(), {"metadata": {"annotations": notes}}, None)


def fault(n: int) -> object:
    inner = {"code": "B", "details": [{"code": "C"}] * 30}
    return error_body.of({"error": {"code": "A", "details": [inner] * (n // 3)}})


REGISTRY = secrets()
KINDS: dict[str, Callable[[int], object]] = {
    "deep lists": json(lambda n: b"[" * n * 10 + b"]" * n * 10),
    "deep objects": json(lambda n: b'{"a":' * n * 10 + b"1" + b"}" * n * 10),
    "lists without an end": json(lambda n: b"[" * n * 10),
    "strings without an end": json(lambda n: b'["' * n * 10),
    "half characters": json(lambda n: b'["' + b"\\ud800" * n * 10 + b'"]'),
    "many deep lists": json(
        lambda n: b"[" + b",".join([b"[" * 150 + b"]" * 150] * (n // 20)) + b"]"
    ),
    "digits": json(lambda n: b"9" * n * 10),
    "no numbers": lambda n: ArmResponse(200, {}, b"[" + b"NaN," * n + b"1]").document,
    "measured depth": lambda n: check_size(b"[" * n + b"]" * n),
    "measured lists": lambda n: check_size(b"[" + b"[]," * n * 10 + b"1]"),
    "measured quotes": lambda n: check_size(b'["' + b'\\"' * n * 10 + b'"]'),
    "measured openings": lambda n: check_size(b'[{"a":"' * n * 10),
    "windows": lambda n: parse_windows("0 2 * * sat 4h;" * (n // 100)),
    "cron": lambda n: parse_windows("1," * n + "1 2 * * sat 4h"),
    "JSON in texts": lambda n: is_same("[" * n * 4, "[" * n * 4 + " "),
    "versions": lambda n: is_same("1." * n * 10, "1." * n * 10 + "2"),
    "named elements": lambda n: differences(subnets(n), subnets(n, third=1)),
    "elements of Azure": lambda n: differences(subnets(0), subnets(n)),
    "unnamed elements": lambda n: differences(
        subnets(n, named=False), subnets(n, third=1, named=False)
    ),
    "changed paths": lambda n: changed_paths(subnets(n), subnets(n, third=1)),
    "values that are missing": missing,
    "sums": lambda n: balanced("a+" * n * 4 + "a"),
    "indexes": lambda n: balanced("a[0]" * n * 4),
    "suspicion": lambda n: REGISTRY.redact("a" * n * 4),
    "percent signs": lambda n: REGISTRY.redact("%25" * n * 3),
    "escapes": lambda n: REGISTRY.redact("\\u0061" * n),
    "entities": lambda n: REGISTRY.redact("&amp;" * n * 2),
    "marks of direction": lambda n: printable("\u202e" * n * 10),
    "details of errors": fault,
    "ids": lambda n: ids.key("/a" * n * 5),
    "rules of a spec": spec_problems,
    "dropped fields": dropped,
}


def refused(call: Callable[[int], object], n: int) -> None:
    try:
        call(n)
    except REFUSED:
        return


@pytest.mark.parametrize("kind", KINDS)
def test_ft3_twice_the_input_takes_at_most_three_times_as_long(kind):
    whole, half = (partial(refused, KINDS[kind], n) for n in (2 * SIZE, SIZE))
    half()  # tables are made once
    least = textgrowth.seconds(whole)
    if least > FAST_SECONDS:
        least = min(least, *(textgrowth.seconds(whole) for _ in range(2)))
    if least > FAST_SECONDS:
        before = min(textgrowth.seconds(half) for _ in range(3))
        assert least <= MOST_RATIO * before
