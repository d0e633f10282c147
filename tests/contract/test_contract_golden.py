"""The recorded answers of a real kube-apiserver, field by field.

`record.py` recorded them. The README in this folder says which differences are allowed,
and why.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from contractclient import Server
from goldenscenarios import SCENARIOS
from record import GOLDEN, exchanges

_RECORDED = json.loads(GOLDEN.read_text())


@pytest.mark.parametrize("name", SCENARIOS)
def test_answers_are_those_of_a_real_server(server: Server, name: str):
    found = exchanges(server, SCENARIOS[name])
    recorded = _RECORDED[name]
    assert [one["request"] for one in found] == [one["request"] for one in recorded]
    differences = [
        f"{index} {one['request']}\n    {difference}"
        for index, (one, other) in enumerate(zip(found, recorded, strict=True))
        for difference in _differences(one, other, "")
    ]
    assert not differences, "\n".join(("found, recorded:", *differences))


def _differences(found: Any, recorded: Any, at: str) -> Iterator[str]:
    if isinstance(found, dict) and isinstance(recorded, dict):
        for name in sorted(found.keys() | recorded.keys()):
            yield from _differences(
                found.get(name, "(none)"), recorded.get(name, "(none)"), f"{at}.{name}"
            )
    elif (
        isinstance(found, list)
        and isinstance(recorded, list)
        and len(found) == len(recorded)
    ):
        for index, pair in enumerate(zip(found, recorded, strict=True)):
            yield from _differences(*pair, f"{at}[{index}]")
    elif found != recorded:
        yield f"{at}: {json.dumps(found)} {json.dumps(recorded)}"
