"""Errors in the wording of ARM and its providers (V3, E1-E5)."""

from collections.abc import Mapping
from typing import Any

from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.arm import envelopes
from asoreconcile.testing.arm.address import ArmAddress
from asoreconcile.testing.http import HttpResponse

JSON_TYPE = envelopes.JSON_TYPE
_VERBS = {"GET": "read", "HEAD": "read", "PUT": "write", "DELETE": "delete"}


class RefusedError(Exception):
    """A request that is refused.

    envelope: format of the error; "" is that of the provider (`Style`).
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        headers: Mapping[str, str] | None = None,
        from_gateway: bool = True,
        extra: JsonObject | None = None,
    ) -> None:
        """Make a refusal.

        from_gateway: whether ARM itself refuses, not the provider (V3).
        extra: further fields of ARM's `error` object.
        """
        super().__init__(message)
        self.status, self.code = status, code
        self.headers = dict(headers or {})
        self.from_gateway = from_gateway
        self.extra = extra or {}
        if from_gateway:
            self.headers.setdefault("x-ms-failure-cause", "gateway")

    def response(self, envelope: str = "arm") -> HttpResponse:
        """Return the error as an answer.

        envelope: format of the provider's errors. ARM's own errors always have ARM's
        format.
        """
        if self.extra:
            fields = {"code": self.code, "message": str(self), **self.extra}
            return answer(self.status, {"error": fields}, self.headers)
        if self.from_gateway:
            envelope = "arm"
        return error(self.status, self.code, str(self), self.headers, envelope=envelope)


def error(
    status: int,
    code: str,
    message: str,
    headers: Mapping[str, str] | None = None,
    *,
    envelope: str = "arm",
) -> HttpResponse:
    """Return an error in one of the `envelopes`."""
    body, content_type = envelopes.wrap(envelope, status, code, message)
    typed = {"Content-Type": content_type} if content_type else {}
    return HttpResponse(status, body, {**typed, **(headers or {})})


def answer(
    status: int, body: Any = b"", headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """Return a JSON answer.

    body: b"" is an empty body; None is the literal `null`.
    """
    if body == b"":
        return HttpResponse(status, b"", dict(headers or {}))
    return HttpResponse(
        status, jsontext.dumps(body), {"Content-Type": JSON_TYPE, **(headers or {})}
    )


def not_supported(method: str) -> HttpResponse:
    """Return the answer to a method that a resource does not support (V4)."""
    message = f"The requested resource does not support http method '{method}'."
    return error(405, "", message, envelope="message")


def subscription_not_found(id_: str) -> RefusedError:
    """Return the error 404 SubscriptionNotFound (V3)."""
    return RefusedError(
        404, "SubscriptionNotFound", f"The subscription '{id_}' could not be found."
    )


def group_not_found(name: str) -> RefusedError:
    """Return the error 404 ResourceGroupNotFound, for a path into a missing
    group (V3).
    """
    return RefusedError(
        404, "ResourceGroupNotFound", f"Resource group '{name}' could not be found."
    )


def resource_not_found(address: ArmAddress) -> RefusedError:
    """Return the error 404 ResourceNotFound (V3).

    As in ARM, the message has the type, all names and the group.
    """
    names = "/".join(address.names)
    where = f" under resource group '{address.group_name}'" if address.group else ""
    return RefusedError(
        404,
        "ResourceNotFound",
        f"The Resource '{address.type_name}/{names}'{where} was not found.",
    )


def parent_not_found(
    address: ArmAddress, missing: ArmAddress, method: str
) -> RefusedError:
    """Return the error for a missing parent.

    missing: the parent, or a resource above it, that does not exist.
    """
    inner = address.type_name.partition("/")[2]
    return RefusedError(
        404,
        "ParentResourceNotFound",
        f"Failed to perform '{_VERBS.get(method, 'action')}' on resource(s) of type "
        f"'{inner}', because the parent resource '{missing.id}' could not be found.",
    )
