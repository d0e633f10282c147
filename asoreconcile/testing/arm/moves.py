"""Moves of resources to another group: the same resources under other ids (I6).

    POST {group}/moveResources   {"resources": [ids], "targetResourceGroup": id}

Everything below a resource is moved with it. Until the move is complete, both groups
accept no writes. Afterwards the old ids do not exist, and nothing tells the new ids.
"""

from typing import Any

import attrs

from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.arm.address import ArmAddress, parse
from asoreconcile.testing.arm.locks import VERBS
from asoreconcile.testing.arm.operations import Operation, Operations
from asoreconcile.testing.arm.refusals import (
    RefusedError,
    group_not_found,
    resource_not_found,
)
from asoreconcile.testing.arm.resources import ArmResource, Resources
from asoreconcile.testing.arm.style import Answer
from asoreconcile.testing.arm.styles import Styles

ACTION = "moveresources"
_MOST = 800
_ANSWER = Answer.of("202 L 15 empty")


class ResourceMoves:
    """The moves of a server. The caller holds the server's lock."""

    def __init__(
        self, resources: Resources, operations: Operations, styles: Styles
    ) -> None:
        self._resources = resources
        self._operations = operations
        self._styles = styles
        self._running: list[tuple[Operation, tuple[str, str]]] = []

    def begin(
        self, source: ArmAddress, body: JsonObject, api_version: str
    ) -> Operation:
        """Begin to move the resources named in a body out of a group. Raises
        RefusedError.
        """
        target = self._target(body)
        moved = [self._movable(source, id_, target) for id_ in _ids(body)]
        self.check(source, "POST")
        self.check(target, "POST")
        operation = self._operations.begin(
            source,
            "POST",
            api_version=api_version,
            style=self._styles[source.type],
            answer=_ANSWER,
            failure=None,
            finish=lambda _: self._finish(moved, target),
        )
        self._running.append((operation, (source.key, target.key)))
        return operation

    def check(self, address: ArmAddress, method: str) -> None:
        """Refuse writes to both groups of a running move. Raises RefusedError 409.

        The error code is that of a lock, because the code of a move was not recorded.
        """
        self._running = [entry for entry in self._running if not entry[0].is_over]
        held = {group for _, groups in self._running for group in groups}
        if method in VERBS and address.group.lower() in held:
            raise RefusedError(
                409,
                "ScopeLocked",
                f"The scope '{address.id}' cannot perform {VERBS[method]} operation "
                f"because following scope(s) are locked: '{address.group}'. Resources "
                "are being moved.",
            )

    def _target(self, body: JsonObject) -> ArmAddress:
        target = parse(str(body.get("targetResourceGroup") or ""))
        if target is None or not target.is_group:
            raise _invalid("The targetResourceGroup is no resource group's id.")
        if self._resources.find(target.id) is None:
            raise group_not_found(target.name)
        return target

    def _movable(self, source: ArmAddress, id_: Any, target: ArmAddress) -> ArmResource:
        address = parse(str(id_))
        if address is None or address.group.lower() != source.key or address.is_group:
            raise _invalid(f"'{id_}' is no resource of the group '{source.name}'.")
        if address.parent or "/providers/" in address.scope.lower():
            raise _invalid(f"'{id_}' is not top-level: it goes with its parent.")
        found = self._resources.find(address.id)
        if found is None:
            raise resource_not_found(address)
        if self._resources.find(_new_id(address.id, target)) is not None:
            raise RefusedError(
                409,
                "ResourceMoveProviderValidationFailed",
                f"'{target.name}' has a resource '{address.name}' already.",
            )
        return found

    def _finish(self, moved: list[ArmResource], target: ArmAddress) -> None:
        for resource in moved:
            old = resource.address.id
            for each in self._resources.remove(old):
                id_ = _new_id(each.address.id, target)
                address = parse(id_)
                assert address is not None
                each.address = attrs.evolve(address, life=each.address.life)
                each.body = {**_renamed(each.body, old, target), "id": id_}
                each.sent = _renamed(each.sent, old, target)
                self._resources.put(each)


def _ids(body: JsonObject) -> list[Any]:
    ids = body.get("resources")
    if not isinstance(ids, list) or not ids:
        raise _invalid("The resources to move are missing.")
    if len(ids) > _MOST:
        raise _invalid(f"{len(ids)} resources are more than the {_MOST} of one move.")
    return ids


def _new_id(id_: str, target: ArmAddress) -> str:
    return "/".join([target.id, *id_.split("/")[5:]])


def _renamed(value: Any, old: str, target: ArmAddress) -> Any:
    """Return a body in which the resource's id and the ids below it are replaced."""
    if isinstance(value, dict):
        return {name: _renamed(inner, old, target) for name, inner in value.items()}
    if isinstance(value, list):
        return [_renamed(item, old, target) for item in value]
    if isinstance(value, str) and f"{value}/".lower().startswith(f"{old}/".lower()):
        return _new_id(value, target)
    return value


def _invalid(message: str) -> RefusedError:
    return RefusedError(400, "InvalidRequestContent", message)
