"""The process of the CEL engine: one request, one response, until its parent ends.

Run as `python -m asoreconcile.azure.expressions.worker_main <descriptor> <bytes of
memory>`. Frames are JSON, see `process`. An expression that needs too much memory fails
with MemoryError or ends this process; in both cases the operator continues.
"""

import signal
import sys
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from asoreconcile.azure.expressions.confinement import confine
from asoreconcile.base import jsontext
from asoreconcile.base.lru import LruCache
from asoreconcile.base.objects import JsonObject

if TYPE_CHECKING:
    from asoreconcile.azure.expressions.engine import Engine

_MAX_ENGINES = 32


class _Engines:
    """The engines of the kind versions that were used last."""

    def __init__(self, make: "type[Engine]") -> None:
        self._make = make
        self._by_kind = LruCache[str, "Engine"](_MAX_ENGINES)

    def get(self, kind: str, schema: JsonObject | None) -> "Engine | None":
        """Return the engine; None if the kind is new and the request has no schema."""
        engine = self._by_kind.get(kind)
        if engine is None and schema is not None:
            engine = self._by_kind.put(kind, self._make(schema))
        return engine


def answer(engines: _Engines, request: JsonObject) -> JsonObject:
    """Return the response to one request; never raises for an error in the
    expression.
    """
    from asoreconcile.azure.expressions.engine import CompileError, EvaluationError

    engine = engines.get(request["kind"], request.get("schema"))
    if engine is None:
        return {"needs": "schema"}
    is_known = engine.knows(request["text"])
    began = time.perf_counter()
    seconds: float | None = None
    try:
        try:
            program = engine.compile(request["text"])
        finally:
            seconds = None if is_known else time.perf_counter() - began
        found: JsonObject
        if "self" not in request:
            found = {
                "gives": program.kind,
                "secrets": sorted(program.secrets.names),
                "whole": program.secrets.whole,
            }
        else:
            message = engine.message(request["self"])
            found = {"value": program.evaluate(message, request["secret"])}
    except (CompileError, EvaluationError) as error:
        found = {"error": str(error)}
    except MemoryError:
        found = {"limit": "takes too much memory: make it do less"}
    # Whether its type and program were cached, and the time of compiling.
    return {**found, "work": ["schema" not in request, is_known, seconds]}


def serve(channel: Connection, memory_bytes: int) -> None:
    """Handle requests until the other end closes the channel."""
    try:
        from asoreconcile.azure.expressions.engine import Engine
    except ImportError as error:
        channel.send_bytes(jsontext.dumps({"missing": str(error)}))
        return
    engines = _Engines(Engine)
    _bound_memory(memory_bytes)
    confine()
    channel.send_bytes(jsontext.dumps({"ready": True}))
    while True:
        try:
            request = jsontext.loads(channel.recv_bytes())
        except EOFError:
            return
        channel.send_bytes(jsontext.dumps(answer(engines, request)))


def _bound_memory(more_bytes: int) -> None:
    """Limit the growth of this process, if the system supports that."""
    with suppress(OSError):  # no /proc, as on macOS: only time is bounded there
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + more_bytes
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        # If the container runs out of memory, the kernel should end this process.
        Path("/proc/self/oom_score_adj").write_text("1000")


def main() -> None:
    """Handle requests from the inherited descriptor until the parent closes it.

    Arguments: the descriptor's number, and the memory limit in bytes.
    """
    # The parent decides when to stop: Ctrl-C reaches the whole process group.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    descriptor, memory_bytes = (int(argument) for argument in sys.argv[1:])
    with Connection(descriptor) as channel, suppress(BrokenPipeError):
        serve(channel, memory_bytes)


if __name__ == "__main__":
    main()
