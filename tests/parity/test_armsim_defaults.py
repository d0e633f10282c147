"""The simulator fills in the same defaults as Azure did in recordings."""

import json
import lzma

from datafolder import data_folder

from asoreconcile.testing.arm.defaults import add_defaults


def test_values_that_are_filled_in_are_the_recorded_ones():
    compared, wrong = 0, []
    with lzma.open(data_folder("roundtrips-dev.jsonl.xz"), "rt") as lines:
        for record in map(json.loads, lines):
            if not record["get_bodies"]:
                continue
            filled = {"properties": {}}
            add_defaults(record["arm_type"].lower(), filled)
            seen = record["get_bodies"][-1].get("properties") or {}
            for path, value in leaves(filled["properties"]):
                compared += 1
                if found(seen, path) != value:
                    wrong.append((record["arm_type"], path, value))
    assert compared > 3000
    assert wrong == []


def leaves(value, path=()):
    if not isinstance(value, dict):
        yield path, value
        return
    for name, inner in value.items():
        yield from leaves(inner, (*path, name))


def found(value, path):
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value
