"""What is counted of expressions, under ASO's names."""

import pytest
from prometheus_client import CollectorRegistry

pytest.importorskip("cel_expr_python", reason="the CEL engine is an extra")

from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.expressions.api import EnginePool, ExpressionError, Expressions
from asoreconcile.azure.expressions.metrics import ExpressionMetrics
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.objects import GroupVersionKind

GVK = GroupVersionKind("resources.azure.com", "v1api20200601", "ResourceGroup")
RESOURCE = "resources.azure.com/v1api20200601, Kind=ResourceGroup"


@pytest.fixture
def expressions():
    clock = SystemClock()
    engine = EnginePool(clock=clock, processes=1)
    yield Expressions(engine, clock=clock)
    engine.close()


def test_the_caches_and_the_compiler_are_counted(expressions):
    registry = CollectorRegistry()
    expressions = expressions.counted_by(ExpressionMetrics(registry))

    def counted():
        names = ("env_cache_hits", "env_cache_misses")
        names += ("program_cache_hits", "program_cache_misses")
        named = [f"cel_{name}_total" for name in names]
        named.append("cel_compilation_time_seconds_count")
        labels = {"resource": RESOURCE}
        return [registry.get_sample_value(name, labels) or 0 for name in named]

    version = builtin().version(GVK)
    expressions.check(version, "self.spec.location")
    assert counted() == [0, 1, 0, 1, 1]
    obj = {"metadata": {"name": "rg"}, "spec": {"location": "westus"}}
    for _ in range(2):
        text = "self.spec.location"
        assert expressions.evaluate(version, text, obj=obj, secrets={}) == "westus"
    assert counted() == [2, 1, 2, 1, 1]
    with pytest.raises(ExpressionError):
        expressions.check(version, "self.spec.nosuch")
    # What does not compile is not kept.
    assert counted() == [3, 1, 2, 2, 2]


def test_each_operator_of_a_process_counts_what_it_asks(expressions):
    """And takes nothing from another, though the engine and what it knows are one."""
    registries = [CollectorRegistry(), CollectorRegistry()]
    first, second = (expressions.counted_by(ExpressionMetrics(r)) for r in registries)

    def misses():
        name = "cel_program_cache_misses_total"
        labels = {"resource": RESOURCE}
        return [r.get_sample_value(name, labels) or 0 for r in registries]

    version = builtin().version(GVK)
    first.check(version, "self.spec.location")
    assert misses() == [1, 0]
    second.check(version, "self.metadata.name")
    assert misses() == [1, 1]
    second.check(version, "self.spec.location")  # the first has had it compiled
    assert misses() == [1, 1]
