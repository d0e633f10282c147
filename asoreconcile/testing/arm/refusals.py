"""Errors as ARM and its providers word them (arm-contract sections 1 and 4)."""

from collections.abc import Mapping

import orjson

from asoreconcile.objects import JsonObject
from asoreconcile.testing.http import Response

JSON_TYPE = "application/json; charset=utf-8"


class RefusedError(Exception):
    """A request ARM refuses."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        headers: Mapping[str, str] | None = None,
        from_gateway: bool = True,
    ) -> None:
        super().__init__(message)
        self.status, self.code = status, code
        self.headers = dict(headers or {})
        if from_gateway:  # V3: who says so, ARM itself or the provider
            self.headers.setdefault("x-ms-failure-cause", "gateway")

    def response(self) -> Response:
        return error(self.status, self.code, str(self), self.headers)


def error(
    status: int, code: str, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    """An error in ARM's usual envelope (E1)."""
    return answer(status, {"error": {"code": code, "message": message}}, headers)


def answer(
    status: int, body: JsonObject | None, headers: Mapping[str, str] | None = None
) -> Response:
    """A JSON answer; None is an empty body."""
    if body is None:
        return Response(status, b"", dict(headers or {}))
    return Response(
        status, orjson.dumps(body), {"Content-Type": JSON_TYPE, **(headers or {})}
    )


def group_not_found(name: str) -> RefusedError:
    return RefusedError(
        404, "ResourceGroupNotFound", f"Resource group '{name}' could not be found."
    )


def resource_not_found(kind: str, name: str, group: str) -> RefusedError:
    where = f" under resource group '{group}'" if group else ""
    return RefusedError(
        404, "ResourceNotFound", f"The Resource '{kind}/{name}'{where} was not found."
    )


def parent_not_found(child: str, parent: str) -> RefusedError:
    return RefusedError(
        404,
        "ParentResourceNotFound",
        f"Failed to perform the operation on nested resource '{child}'. The parent "
        f"resource '{parent}' could not be found.",
    )
