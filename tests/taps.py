"""Clients that pass each write of an operator process to a test, which may break it.

A process here is a reconciler with an empty memory. Reads pass through. A write is
passed on with its name, the function that makes it, and the error for a lost answer.
"""

from collections.abc import Callable
from typing import Any

from asoreconcile.azure.arm.errors import ArmTransportError
from asoreconcile.azure.arm.outcomes import Failed, OperationDone
from asoreconcile.azure.reconcile.model.annotations import (
    FINALIZER,
    OPERATOR_NAMESPACE,
    POLLER_TOKEN,
)
from asoreconcile.base.objects import JsonObject, ObjectKey
from asoreconcile.kube.errors import TransportError
from asoreconcile.kube.resources import ApiResource


class CrashError(BaseException):
    """The process ends here. No code catches this."""


class KubeTap:
    """`kube.client.KubeClient` of one process.

    names: roles by the names of objects.
    """

    def __init__(
        self, client: Any, names: dict[str, str], write: Callable[..., Any]
    ) -> None:
        self._client = client
        self._names = names
        self._write = write

    def get(self, resource: ApiResource, key: ObjectKey) -> Any:
        return self._client.get(resource, key)

    def list_all(self, selection: Any) -> Any:
        return self._client.list_all(selection)

    def create(self, resource: ApiResource, obj: JsonObject, **options: Any) -> Any:
        return self._write(
            f"export {resource.kind}",
            lambda: self._client.create(resource, obj, **options),
            _lost_kube(),
        )

    def patch(
        self, resource: ApiResource, key: ObjectKey, body: JsonObject, **options: Any
    ) -> Any:
        role = self._names.get(key.name, resource.kind)
        return self._write(
            f"{_what(body, **options)} {role}",
            lambda: self._client.patch(resource, key, body, **options),
            _lost_kube(),
        )


class ArmTap:
    """`arm.client.ArmClient` of one process, for its writes and its reads."""

    def __init__(
        self,
        client: Any,
        role: Callable[[str], str],
        write: Callable[..., Any],
        on_put: Callable[[JsonObject], None],
    ) -> None:
        """Make a tap.

        role: returns the role of an ARM id.
        on_put: called with the body of each PUT that was accepted.
        """
        self._client = client
        self._role = role
        self._write = write
        self._on_put = on_put
        self.seen: dict[str, Any] = {}

    def get(self, arm_id: str, api_version: str) -> Any:
        body = self._client.get(arm_id, api_version)
        self.seen[arm_id.lower()] = body
        return body

    def pages(self, path: str, api_version: str) -> Any:
        return self._client.pages(path, api_version)

    def list(self, path: str, api_version: str) -> Any:
        return self._client.list(path, api_version)

    def post(self, *arguments: Any, **options: Any) -> Any:
        return self._client.post(*arguments, **options)

    def poll(self, *arguments: Any) -> Any:
        return self._client.poll(*arguments)

    def judge(self, arm_id: str, api_version: str, **options: Any) -> Any:
        outcome = self._client.judge(arm_id, api_version, **options)
        if isinstance(outcome, OperationDone) and outcome.body:
            self.seen[arm_id.lower()] = outcome.body
        return outcome

    def put(
        self, arm_id: str, api_version: str, body: JsonObject, **options: Any
    ) -> Any:
        def effect() -> Any:
            outcome = self._client.put(arm_id, api_version, body, **options)
            if not isinstance(outcome, Failed):
                self._on_put(body)
            return outcome

        return self._write(f"put {self._role(arm_id)}", effect, _lost_arm("PUT"))

    def delete(self, arm_id: str, api_version: str, **options: Any) -> Any:
        return self._write(
            f"delete {self._role(arm_id)}",
            lambda: self._client.delete(arm_id, api_version, **options),
            _lost_arm("DELETE"),
        )


def _what(
    body: JsonObject, *, subresource: str = "", kind: str = "merge", **_: object
) -> str:
    """Return which write of the reconciler a patch is, judging by its body."""
    if kind == "apply":
        return "export"
    if subresource:
        return subresource
    meta = body["metadata"]
    if "finalizers" in meta:
        return "claim" if FINALIZER in meta["finalizers"] else "release"
    notes = meta.get("annotations") or {}
    if OPERATOR_NAMESPACE in notes:
        return "mark"
    if POLLER_TOKEN in notes:
        return "record" if notes[POLLER_TOKEN] else "clear"
    return "note"


def _lost_kube() -> TransportError:
    return TransportError("the answer was lost", lost=True)


def _lost_arm(method: str) -> ArmTransportError:
    return ArmTransportError(
        "the answer was lost", sent="maybe", method=method, url="https://azure/"
    )
