"""What typed objects cost beside dicts: reading, writing, a difference.

    hack/bench typed-objects [--rounds N]

Thread CPU time a call, the least of many rounds, ours and the peer's in turn. The peer is
cattrs, where it is installed, with its own defaults: it forgets unknown fields.
"""

import argparse
import time
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal

import attrs
import orjson
from watching.running import show

from asoreconcile import (
    Condition,
    Conditions,
    ObjectMeta,
    Schema,
    merge_patch,
    resource,
)
from asoreconcile.base.objects import copy_json
from asoreconcile.cache.entry import Entry
from asoreconcile.resources.typed_kind import kind_of
from asoreconcile.resources.unknown_fields import carry_unknown

ROUND = 200


@attrs.define
class Port:
    name: str
    number: int = 80
    protocol: Literal["TCP", "UDP"] = "TCP"


@attrs.define
class Spec:
    host: Annotated[str, Schema(max_length=253)]
    image: str
    replicas: int = 1
    tier: Literal["small", "large"] = "small"
    labels: dict[str, str] = attrs.field(factory=dict)
    ports: list[Port] = attrs.field(factory=list)
    aliases: list[str] = attrs.field(factory=list)
    until: datetime | None = None


@attrs.define
class Status:
    replicas: int = 0
    url: str = ""
    conditions: Conditions = attrs.field(factory=list)


@resource("bench.example.com/v1", plural="websites")
@attrs.define
class Website:
    metadata: ObjectMeta
    spec: Spec
    status: Status = attrs.field(factory=Status)


OBJECT: dict[str, Any] = {
    "apiVersion": "bench.example.com/v1",
    "kind": "Website",
    "metadata": {
        "name": "shop",
        "namespace": "default",
        "uid": "2f0c9d0e-8f1c-4b52-a2a5-2c4f0e9a5b11",
        "resourceVersion": "123456",
        "generation": 3,
        "creationTimestamp": "2026-01-31T12:00:00Z",
        "labels": {"app": "shop", "team": "web", "tier": "front"},
        "annotations": {"example.com/owner": "somebody", "example.com/note": "x" * 60},
        "finalizers": ["example.com/directory"],
    },
    "spec": {
        "host": "shop.example.com",
        "image": "registry.example.com/shop:1.2.3",
        "replicas": 3,
        "tier": "large",
        "labels": {f"label-{n}": f"value-{n}" for n in range(5)},
        "ports": [
            {"name": f"port-{n}", "number": 8000 + n, "protocol": "TCP"}
            for n in range(4)
        ],
        "aliases": [f"shop{n}.example.com" for n in range(4)],
        "until": "2027-01-31T12:00:00Z",
    },
    "status": {
        "replicas": 3,
        "url": "https://shop.example.com",
        "conditions": [
            {
                "type": kind,
                "status": "True",
                "observedGeneration": 3,
                "lastTransitionTime": "2026-01-31T12:00:05Z",
                "reason": "Serving",
                "message": "3 of 3 replicas are ready",
            }
            for kind in ("Ready", "Synced")
        ],
    },
}


def cattrs_peer() -> dict[str, Callable[[], object]] | None:
    """Reading and writing of the spec and the status, its names in JSON given."""
    try:
        import cattrs
        from cattrs import gen
    except ImportError:
        return None
    converter = cattrs.Converter()
    converter.register_structure_hook(
        datetime, lambda text, _: datetime.fromisoformat(text)
    )
    converter.register_unstructure_hook(datetime, datetime.isoformat)
    for cls in (Port, Condition, Spec, Status):
        names = {
            one.name: gen.override(rename=camel)
            for one in attrs.fields(cls)
            if (camel := _camel(one.name)) != one.name
        }
        converter.register_structure_hook(
            cls, gen.make_dict_structure_fn(cls, converter, **names)
        )
        converter.register_unstructure_hook(
            cls, gen.make_dict_unstructure_fn(cls, converter, **names)
        )
    spec = converter.structure(OBJECT["spec"], Spec)
    status = converter.structure(OBJECT["status"], Status)
    return {
        "read": lambda: (
            converter.structure(OBJECT["spec"], Spec),
            converter.structure(OBJECT["status"], Status),
        ),
        "write": lambda: (
            converter.unstructure(spec),
            converter.unstructure(status),
        ),
    }


def own_body() -> dict[str, Callable[[], object]]:
    """Ours, of what cattrs is asked for: spec and status, no metadata."""
    from asoreconcile.resources.codec import codec_of

    parts = codec_of(Spec), codec_of(Status)
    spec, status = parts[0].decode(OBJECT["spec"]), parts[1].decode(OBJECT["status"])
    return {
        "read": lambda: (
            parts[0].decode(OBJECT["spec"]),
            parts[1].decode(OBJECT["status"]),
        ),
        "write": lambda: (parts[0].encode(spec), parts[1].encode(status)),
    }


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def cases() -> dict[str, Callable[[], object]]:
    """What is measured, by name."""
    kind = kind_of(Website)
    entry = Entry(OBJECT)
    site = kind.decode(copy_json(OBJECT))
    with_unknown = copy_json(OBJECT)
    with_unknown["spec"]["new"] = 1
    with_unknown["metadata"]["managedFields"] = [{"manager": "a"}]
    odd = kind.decode(copy_json(with_unknown))
    changed = copy_json(OBJECT)
    changed["spec"]["replicas"] = 4

    def update() -> object:
        """As `client.update`, but for sending."""
        before = kind.encode(site)
        copy = kind.decode(copy_json(before))
        copy.spec.replicas = 4
        after = kind.encode(copy)
        carry_unknown(Website, before, after)
        return merge_patch(before, after)

    return {
        "dict: read from the cache": entry.deep_copy,
        "dict: a copy, changed, and its patch": lambda: merge_patch(
            OBJECT, {**copy_json(OBJECT), "spec": changed["spec"]}
        ),
        "typed: read from the cache": lambda: kind.decode(entry.deep_copy()),
        "typed: written as a dict": lambda: kind.encode(site),
        "typed: a copy, changed, and its patch": update,
        "typed: read, with unknown fields": lambda: kind.decode(
            copy_json(with_unknown)
        ),
        "typed: written, with unknown fields": lambda: kind.encode(odd),
        **{f"spec and status: {name}": call for name, call in own_body().items()},
    }


def least(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Microseconds of CPU a call, the least of the rounds, which take turns."""
    found = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            started = time.thread_time()
            for _ in range(ROUND):
                call()
            spent = (time.thread_time() - started) / ROUND * 1e6
            found[name] = min(found[name], spent)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    rounds = parser.parse_args().rounds
    calls = cases()
    peer = cattrs_peer()
    if peer is not None:
        calls |= {f"cattrs, spec and status: {k}": call for k, call in peer.items()}
    show({"object_bytes": len(orjson.dumps(OBJECT))})
    for name, micros in least(calls, rounds).items():
        show({"case": name, "us": round(micros, 1)})
    if peer is None:
        show({"case": "cattrs", "skipped": "not installed"})


if __name__ == "__main__":
    main()
