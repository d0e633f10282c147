"""What goes wrong in Azure on demand: refusals, lost answers, failing operations."""

from collections.abc import Mapping
from typing import Any

import orjson

from asoreconcile.testing.arm.operations import Failure, Failures
from asoreconcile.testing.arm.refusals import JSON_TYPE, error
from asoreconcile.testing.faults import Faults
from asoreconcile.testing.http import Response


class ArmFaults(Faults):
    """Faults with ARM's words. Paths are patterns, without regard to case."""

    def __init__(self) -> None:
        super().__init__()
        self.failures = Failures()

    def answer(
        self,
        method: str,
        path: str,
        status: int,
        *,
        code: str = "",
        message: str = "",
        headers: Mapping[str, str] | None = None,
        body: Any = None,
        times: int = 1,
    ) -> None:
        """Answer an error instead of what ARM would.

        code, message: of the usual envelope. body: instead of that envelope; text is
        sent as a page, anything else as JSON.
        """
        if body is None:
            response = error(status, code, message, headers)
        elif isinstance(body, str):
            response = Response(
                status, body.encode(), {"Content-Type": "text/html", **(headers or {})}
            )
        else:
            response = Response(
                status,
                orjson.dumps(body),
                {"Content-Type": JSON_TYPE, **(headers or {})},
            )
        self.respond(method, path, response, times=times)

    def fail_operation(
        self, path: str, code: str, message: str, *, times: int = 1
    ) -> None:
        """Let the next operations of resources end as failed."""
        self.failures.plan(path, Failure(code, message), times=times)
