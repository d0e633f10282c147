"""For hack/docs: the page of metrics, made from the families that the code
registers.
"""

import ast
from pathlib import Path

from prometheus_client import CollectorRegistry, ProcessCollector

from asoreconcile.azure.arm.metrics import ArmMetrics
from asoreconcile.azure.controllers import kind_metrics
from asoreconcile.azure.controllers.kind_metrics import KindGauge
from asoreconcile.azure.controllers.ready_metrics import ReadyMetrics
from asoreconcile.azure.expressions.metrics import ExpressionMetrics
from asoreconcile.azure.middleware.metrics import ExtensionMetrics
from asoreconcile.azure.reconcile.state.sync_metrics import (
    SyncMetrics,
)
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.threads import Threads
from asoreconcile.observability.metrics import RuntimeMetrics
from asoreconcile.webhooks.metrics import WebhookMetrics

_LIBRARY = "Of any program of the library"
_OPERATOR = "Of the operator"


def metrics_page() -> dict[str, str]:
    """Return the page of all metrics: its place, and its text."""
    text = (
        "# Metrics\n\n`/metrics` of a manager, or of any program of the library "
        "([how to scrape it](index.md#metrics)). Names of queues, reconciles, leases, "
        "webhooks and Azure requests are those of controller-runtime and of Azure "
        "Service Operator, so that its dashboards work. [Alerts](alerts.md) use them.\n"
    )
    for title, registry in ((_LIBRARY, _library()), (_OPERATOR, _operator())):
        text += f"\n## {title}\n\n| Metric | Type | What it says |\n|---|---|---|\n"
        for name, kind, said in sorted(rows(registry)):
            text += f"| `{name}` | {kind} | {said} |\n"
    return {"operator/metrics.md": text}


def rows(registry: CollectorRegistry) -> set[tuple[str, str, str]]:
    """Return name, type and text of each family of a registry."""
    return {
        (
            f"{found.name}_total" if found.type == "counter" else found.name,
            found.type,
            found.documentation,
        )
        for found in registry.collect()
    }


def _library() -> CollectorRegistry:
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    runtime = RuntimeMetrics(registry)
    runtime.threads(Threads())
    runtime.expose_server_probe(lambda: 0.0, lambda: 0)
    WebhookMetrics(registry)
    return registry


def _operator() -> CollectorRegistry:
    registry = CollectorRegistry()
    for metrics in (
        ArmMetrics,
        ExpressionMetrics,
        ExtensionMetrics,
        SyncMetrics,
    ):
        metrics(registry)
    registry.register(ReadyMetrics(dict, SystemClock()))
    for gauge in _kind_gauges():
        registry.register(gauge)
    return registry


def _kind_gauges() -> list[KindGauge]:
    """Return the gauges by kind, which parts of a running operator register."""
    folder = Path(kind_metrics.__file__).parent
    return [
        KindGauge(ast.literal_eval(call.args[0]), ast.literal_eval(call.args[1]), dict)
        for path in sorted(folder.glob("*.py"))
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "KindGauge"
    ]
