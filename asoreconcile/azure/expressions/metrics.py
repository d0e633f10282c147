"""Metrics of expressions: ASO's five families under ASO's names.

The label `resource` is the kind version of `self`: `group/version, Kind=Kind`.
"""

import attrs
from prometheus_client import CollectorRegistry, Counter

from asoreconcile.observability.histogram import HistogramFamily

_LABELS = ("resource",)
_BUCKETS = (
    0.005,
    0.01,
    0.025,
    0.05,
    0.075,
    0.1,
    0.25,
    0.5,
    0.75,
    1.0,
    2.5,
    5.0,
    7.5,
    10.0,
)


@attrs.frozen
class Work:
    """The work that the engine did for a response.

    environment, program: whether each was cached.
    seconds: duration of compiling, None if nothing was compiled.
    """

    environment: bool
    program: bool
    seconds: float | None = None


class ExpressionMetrics:
    """The metric families in one registry; create one per process. Thread-safe."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counted(name: str, text: str) -> Counter:
            return Counter(name, text, _LABELS, registry=registry)

        self._environments = {
            True: counted("cel_env_cache_hits", "Types of self that were known"),
            False: counted("cel_env_cache_misses", "Types of self that were not known"),
        }
        self._programs = {
            True: counted("cel_program_cache_hits", "Expressions that were compiled"),
            False: counted(
                "cel_program_cache_misses", "Expressions that were to be compiled"
            ),
        }
        self._seconds = HistogramFamily(
            "cel_compilation_time_seconds",
            "How long compiling an expression takes",
            _LABELS,
            buckets=_BUCKETS,
            registry=registry,
        )

    def answered(self, resource: str, work: Work) -> None:
        """Count one response: cache hits or misses, and the time to compile."""
        self._environments[work.environment].labels(resource).inc()
        self._programs[work.program].labels(resource).inc()
        if work.seconds is not None:
            self._seconds.of(resource).observe(work.seconds)
