"""The URLs at which operations are polled: made and recognised here (L10-L22).

The URLs are opaque to clients. A signed URL that was edited, reordered or encoded
differently is refused.
"""

import hashlib
import hmac
import secrets
import urllib.parse
from typing import Literal

import attrs

from asoreconcile.testing.arm.address import ArmAddress
from asoreconcile.testing.arm.operations import Operation
from asoreconcile.testing.arm.refusals import RefusedError
from asoreconcile.testing.arm.style import Answer, Monitor
from asoreconcile.testing.http import HttpRequest

MonitorKind = Literal["async", "location"]
# Real signatures contain certificates and are as long as this (L20).
_CERTIFICATE = "MII" + "A1b2C3d4" * 180
_FOREIGN_HOST = "https://westeurope.rp.kubernetesconfiguration.azure.com"


@attrs.frozen
class PollRequest:
    """A request that polls an operation."""

    operation: Operation
    kind: MonitorKind


class MonitorRegistry:
    """All monitors of a server. The caller holds the server's lock."""

    def __init__(self, url: str, *, retry_after: int | None = None) -> None:
        """Make the registry.

        retry_after: seconds, in place of those that operations ask for.
        """
        self._url = url
        self._retry_after = retry_after
        self._key = secrets.token_bytes(16)
        self._known: dict[str, PollRequest] = {}
        self._bases: dict[tuple[str, MonitorKind], str] = {}

    def plain_headers(
        self, address: ArmAddress, style_answer: Answer, api_version: str
    ) -> dict[str, str]:
        """Return the headers of a write that is complete at once (W5)."""
        if "self" in style_answer.monitors:
            return {"Location": address.id}
        if "resource" in style_answer.monitors:
            return {"Location": self._resource_url(address, api_version)}
        return {}

    def headers(self, operation: Operation, *, location: str) -> dict[str, str]:
        """Return the headers of a write that began an operation.

        location: the resource's location, as in its body; "" if it has none.
        """
        self._place(operation, location)
        headers = {}
        for monitor in operation.answer.monitors:
            name = "Azure-AsyncOperation" if monitor == "async" else "Location"
            headers[name] = self._target(operation, monitor)
        return self._with_retry_after(headers, operation)

    def poll_headers(self, look: PollRequest) -> dict[str, str]:
        """Return the headers of a poll while the operation is running."""
        operation = look.operation
        form = operation.style.monitors
        names: list[MonitorKind] = []
        is_renewed = form.renewed == "each" or (
            form.renewed == "some" and operation.polls % 2 == 1
        )
        if look.kind == "location" and (is_renewed or form.renewed == "never"):
            names = ["location"]
        elif look.kind == "async" and is_renewed:
            names = ["async"]
        if look.kind == "async" and form.poll_status == 202:
            names = ["async", "location"]
        titles = {"async": "Azure-AsyncOperation", "location": "Location"}
        headers = {
            titles[name]: self._url_of(operation, name)
            for name in names
            if name in operation.answer.monitors
        }
        return self._with_retry_after(headers, operation)

    def find(self, path: str, query: str) -> PollRequest | None:
        """Return the poll that a path and a raw query mean, or None. Pure."""
        fields = urllib.parse.parse_qs(query, keep_blank_values=True)
        for name in ("azure-asyncId", "asyncId"):
            if name in fields:
                return self._known.get(f"{path.lower()}?{name}={fields[name][-1]}")
        key = path.lower()
        return self._known.get(key + "?monitor" if "monitor" in fields else key)

    def check_signature(self, look: PollRequest, request: HttpRequest) -> None:
        """Check the signature of a monitor's URL. Raises RefusedError."""
        operation = look.operation
        if not operation.style.monitors.signed:
            return
        path, _, query = request.target.partition("?")
        plain, _, signature = query.partition("&t=")
        stamp = signature.partition("&")[0]
        if signature != self._signature(operation, f"{path}?{plain}", stamp):
            raise RefusedError(
                400,
                "InvalidMonitorSignature",
                "The URL of the operation was changed by the client.",
            )

    def _place(self, operation: Operation, location: str) -> None:
        for name, base in _paths(operation, location or "global").items():
            path, _, query = base.partition("?")
            key = urllib.parse.unquote(path).lower()
            if "asyncId" in query:
                key = f"{key}?{query.partition('&')[0]}"
            elif query.endswith("monitor=true"):
                key += "?monitor"
            self._known[key] = PollRequest(operation, name)
            self._bases[operation.id, name] = base

    def _target(self, operation: Operation, monitor: Monitor) -> str:
        match monitor:
            case "async" | "location":
                return self._url_of(operation, monitor)
            case "self":
                return operation.address.id
            case "foreign":
                return _FOREIGN_HOST + operation.address.id
        return self._resource_url(operation.address, operation.api_version)

    def _resource_url(self, address: ArmAddress, api_version: str) -> str:
        path = urllib.parse.quote(address.id)
        return f"{self._url}{path}?api-version={api_version}"

    def _url_of(self, operation: Operation, kind: MonitorKind) -> str:
        base = self._bases[operation.id, kind]
        joint = "&" if "?" in base else "?"
        target = f"{base}{joint}api-version={operation.api_version}"
        form = operation.style.monitors
        if form.signed:
            stamp = 0 if form.renewed == "never" else operation.polls
            ticks = f"{639000000000000000 + stamp}"
            target += f"&t={self._signature(operation, target, ticks)}"
        return self._url + target

    def _signature(self, operation: Operation, target: str, ticks: str) -> str:
        text = f"{operation.id} {target} {ticks}".encode()
        digest = hmac.new(self._key, text, hashlib.sha256).hexdigest()
        return f"{ticks}&c={_CERTIFICATE}&s={digest[::-1]}&h={digest[:43]}"

    def _with_retry_after(
        self, headers: dict[str, str], operation: Operation
    ) -> dict[str, str]:
        seconds = operation.retry_after
        if seconds is None:
            return headers
        if self._retry_after is not None:
            seconds = self._retry_after
        return {**headers, "Retry-After": str(seconds)}


def _paths(operation: Operation, location: str) -> dict[MonitorKind, str]:
    """Return the paths of both monitors, with the query that distinguishes them."""
    address, form, id_ = operation.address, operation.style.monitors, operation.id
    resource = urllib.parse.quote(address.id)
    if form.place == "query":
        code = operation.answer.status
        return {
            "async": f"{resource}?azure-asyncId={id_}",
            "location": f"{resource}?asyncId={id_}&asyncCode={code}",
        }
    scope = f"/subscriptions/{address.subscription}" if address.subscription else ""
    namespace = address.type_name.partition("/")[0]
    if form.place == "resource":
        base = resource
    elif form.place == "group":
        base = f"{urllib.parse.quote(address.group)}/providers/{namespace}"
    elif address.is_group:
        base = scope
    else:
        base = f"{scope}/providers/{namespace}/locations/{urllib.parse.quote(location)}"
    first, second = form.paths
    if form.shared:
        shared = f"{base}/{first}/{id_}?p={id_[:8]}"
        return {"async": shared, "location": f"{shared}&monitor=true"}
    return {
        "async": f"{base}/{_below(first, operation)}",
        "location": f"{base}/{_below(second, operation)}",
    }


def _below(path: str, operation: Operation) -> str:
    name = urllib.parse.quote(operation.address.name)
    full = path if "{id}" in path else f"{path}/{{id}}"
    return full.format(id=operation.id, name=name)
