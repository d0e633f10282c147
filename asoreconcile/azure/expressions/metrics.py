"""Metrics of expressions: ASO's five families by ASO's names.

The label `resource` is the kind version that `self` is: `group/version, Kind=Kind`.
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
    """The engine's work for an answer.

    environment, program: whether they were cached.
    seconds: of compiling, None without.
    """

    environment: bool
    program: bool
    seconds: float | None = None


class ExpressionMetrics:
    """Families on one registry; make one a process. Thread-safe."""

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
        """Count one answer: caches hit or missed, and how long the evaluation took."""
        self._environments[work.environment].labels(resource).inc()
        self._programs[work.program].labels(resource).inc()
        if work.seconds is not None:
            self._seconds.of(resource).observe(work.seconds)
