"""The chart rendered by the real helm, and its kept form for comparisons.

    python tests/deploy/charts.py     writes golden/ again

In the kept files, the rules that `hack/rbac` makes are replaced by their number of
lines: other tests compare them with their source.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
from tools import CHART, attempt, objects, program, run

HERE = Path(__file__).parent
NAMESPACE = "azureserviceoperator-system"
CASES = ("default", "theirs", "webhooks", "tenant", "light", "everything")
_LONG_RULES = 8


def values(case: str) -> tuple[str | Path, ...]:
    """Return helm's options for a case."""
    return () if case == "default" else ("--values", HERE / "values" / f"{case}.yaml")


def command(*arguments: object) -> tuple[object, ...]:
    return (program("helm", "helm"), *arguments)


def rendered(case: str, *options: str) -> list[Any]:
    """Return the objects of a case."""
    return objects(text(case, *options))


def text(case: str, *options: str) -> str:
    return run(
        *command("template", "aso2", CHART, "--namespace", NAMESPACE),
        *(*values(case), *options),
    )


def refusal(*options: str) -> str:
    """Return helm's message for values that it refuses."""
    done = attempt(*command("template", "aso2", CHART, *options))
    assert done.returncode, done.stdout[-500:]
    return done.stderr


def golden_path(case: str) -> Path:
    return HERE / "golden" / f"{case}.yaml"


def golden(found: Iterable[Any]) -> str:
    """Return objects as the text that is kept."""
    ordered = sorted(found, key=lambda o: (o["kind"], o["metadata"]["name"]))
    return yaml.safe_dump_all([_short(one) for one in ordered], sort_keys=False)


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _member(key, one) for key, one in value.items()}
    if isinstance(value, list):
        return [_short(one) for one in value]
    return value


def _member(key: str, value: Any) -> Any:
    is_long = isinstance(value, list) and len(value) > _LONG_RULES
    if key in {"rules", "resourceRules", "variables", "validations"} and is_long:
        return f"{len(value)} {key} that hack/rbac makes"
    if key in {"groups", "asoreconcile.json"}:
        return "a file of the chart"
    if key == "resourceNames" and len(value) > _LONG_RULES:
        return f"{len(value)} names"
    return _short(value)


if __name__ == "__main__":
    for one in CASES:
        golden_path(one).parent.mkdir(exist_ok=True)
        golden_path(one).write_text(golden(rendered(one)))
