"""Faults of the API server, as Status objects."""

import orjson

from asoreconcile.base.clock import Clock
from asoreconcile.testing.fault_injection import InjectedFault, Subject
from asoreconcile.testing.faults import Faults
from asoreconcile.testing.http import HttpRequest, HttpResponse
from asoreconcile.testing.kube.access.attributes import attributes_of
from asoreconcile.testing.kube.controls.scripted import parse_script
from asoreconcile.testing.kube.wire.status import JSON_TYPE, StatusError, conflict

_WRITES = ("create", "update", "patch", "delete", "deletecollection")
_WORDS = {
    401: ("Unauthorized", "Unauthorized"),
    403: ("Forbidden", "forbidden"),
    404: ("NotFound", "the server could not find the requested resource"),
    410: ("Expired", "The resourceVersion for the provided list is too old."),
    413: ("RequestEntityTooLarge", "Request entity too large"),
    429: ("TooManyRequests", "Too many requests, please try again later."),
    500: ("InternalError", "Internal error occurred: injected by the test"),
    503: (
        "ServiceUnavailable",
        "the server is currently unable to handle the request",
    ),
    504: ("Timeout", "Timeout: request did not complete within the allotted timeout"),
}
# A real server answers this if etcd has no space left. Reads still work.
_NO_SPACE = "etcdserver: mvcc: database space exceeded"


class KubeFaults(Faults):
    """Faults by verb and resource, as `Status` objects. Safe to use from any thread.

    read_only: if true, all writes are refused, as by a server whose storage is full.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        super().__init__(describe=subject_of, clock=clock)
        self.read_only = False

    def throttle(
        self,
        *,
        verb: str = "",
        resource: str = "",
        retry_after: int = 1,
        times: int | None = 1,
    ) -> int:
        """Answer 429 with Retry-After; return the number of the fault."""
        return self.plan(
            InjectedFault(
                verb=verb,
                resource=resource,
                status=429,
                retry_after=retry_after,
                times=times,
            )
        )

    def fail(
        self,
        *,
        verb: str = "",
        resource: str = "",
        status: int = 500,
        times: int | None = 1,
    ) -> int:
        """Answer with an error and do nothing else; return the number of the fault."""
        return self.plan(
            InjectedFault(verb=verb, resource=resource, status=status, times=times)
        )

    def conflict(
        self, *, verb: str = "update", resource: str = "", times: int | None = 1
    ) -> int:
        """Answer 409, as if another client wrote first; return the number
        of the fault.
        """
        return self.fail(verb=verb, resource=resource, status=409, times=times)

    def script(self, line: str) -> int:
        """Plan a fault given as a line of `scripted`. Raises ValueError."""
        return self.plan(parse_script(line))

    def refused(self, injected: InjectedFault, request: HttpRequest) -> HttpResponse:
        """Return an injected fault's Status object, in the usual wording of
        its status.
        """
        return _response(_error(injected, request), injected.retry_after)

    def check_writable(self, request: HttpRequest) -> None:
        """Refuse a write while the server is read-only. Raises StatusError."""
        if self.read_only and attributes_of(request).verb in _WRITES:
            raise StatusError(500, "", _NO_SPACE)


def subject_of(request: HttpRequest) -> Subject:
    """Return the verb and the `plural.group/subresource` of a request, as in RBAC."""
    attributes = attributes_of(request)
    return Subject(attributes.verb, attributes.full_resource)


def _error(injected: InjectedFault, request: HttpRequest) -> StatusError:
    if injected.status == 409 and not (injected.reason or injected.message):
        about = attributes_of(request)
        return conflict(about.resource, about.group, about.name)
    reason, message = _WORDS.get(injected.status, ("", "injected by the test"))
    after = injected.retry_after
    return StatusError(
        injected.status,
        injected.reason or reason,
        injected.message or message,
        details=None if after is None else {"retryAfterSeconds": after},
    )


def _response(error: StatusError, retry_after: int | None) -> HttpResponse:
    headers = {"Content-Type": JSON_TYPE}
    if retry_after is not None:
        headers["Retry-After"] = str(retry_after)
    return HttpResponse(error.code, orjson.dumps(error.document), headers)
