"""Installs the CRDs of classes: applies them and waits until they are served."""

import threading
from contextlib import closing

from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import RetryError
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import JsonObject, ObjectKey, key_of, resource_version
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.conditions import condition_of
from asoreconcile.kube.errors import NotFoundError
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, ApiResource
from asoreconcile.kube.selection import ListOptions, Selection
from asoreconcile.resources.class_fields import ResourceError
from asoreconcile.resources.crd import by_kind, crd_of
from asoreconcile.resources.stored_data import dropped_data
from asoreconcile.resources.typed_kind import kind_of

_log = Logger(__name__)
_LOOK_SECONDS = 0.1


class CrdNotEstablishedError(RetryError):
    """A CRD was applied but is not served: its names conflict, or it takes too long."""


def install_crds(
    client: KubeClient,
    *classes: type,
    conversion: JsonObject | None = None,
    allow_data_loss: bool = False,
    field_manager: str,
    clock: Clock,
    timeout_seconds: float = 30.0,
) -> list[JsonObject]:
    """Install the CRDs of these classes; returns the CRDs as stored by the API server.

    classes: all versions of each kind. conversion: the `clientConfig` of the conversion
    webhook, for kinds with several versions (`crd_of`).
    allow_data_loss: install even if stored objects would lose fields. All CRDs are
    checked before the first is written. field_manager: field manager of the server-side
    apply.
    timeout_seconds: limit until all of them are Established and served.

    Blocking. Raises ResourceError for an invalid CRD, or one that would drop stored
    data; CrdNotEstablishedError; the exceptions of the client.
    """
    wanted = [
        (versions, crd_of(*versions, conversion=conversion))
        if len(versions) > 1
        else (versions, crd_of(*versions))
        for versions in by_kind(classes)
    ]
    if not allow_data_loss:
        for _, crd in wanted:
            _require_no_loss(client, crd)
    deadline = clock.monotonic() + timeout_seconds
    found: list[JsonObject] = []
    for _, crd in wanted:
        _log.info("Installing a CRD", crd=key_of(crd).name)
        applied = client.patch(
            CUSTOM_RESOURCE_DEFINITIONS,
            key_of(crd),
            crd,
            kind="apply",
            field_manager=field_manager,
            force=True,
        )
        found.append(applied)
    if client.is_dry_run:
        return found
    for number, (versions, _) in enumerate(wanted):
        found[number] = _established(client, found[number], clock, deadline)
        for cls in versions:
            if kind_of(cls).options.served:
                _wait_served(client, kind_of(cls).resource, clock, deadline)
    return found


def _require_no_loss(client: KubeClient, crd: JsonObject) -> None:
    try:
        before = client.get(CUSTOM_RESOURCE_DEFINITIONS, key_of(crd))
    except NotFoundError:
        return
    if lost := dropped_data(before, crd):
        raise ResourceError(
            f"{key_of(crd).name}: stored objects would lose data: {'; '.join(lost)}"
        )


def _established(
    client: KubeClient, crd: JsonObject, clock: Clock, deadline: float
) -> JsonObject:
    """Wait with a watch until the CRD is Established."""
    name = key_of(crd).name
    selection = Selection(
        CUSTOM_RESOURCE_DEFINITIONS, field_selector=f"metadata.name={name}"
    )
    while not _is_established(crd):
        left = deadline - clock.monotonic()
        if left <= 0:
            raise CrdNotEstablishedError(
                f"{name} is not Established in time", after_seconds=1.0
            )
        watch = client.watch(
            selection,
            resource_version=resource_version(crd),
            timeout_seconds=max(1.0, left),
        )
        with closing(watch) as events:
            for type_, obj in events:
                if type_ == "MODIFIED":
                    crd = obj
                    break
            else:  # the server ended the watch, or expired its version
                crd = client.get(CUSTOM_RESOURCE_DEFINITIONS, ObjectKey("", name))
    return crd


def _is_established(crd: JsonObject) -> bool:
    refused = condition_of(crd, "NamesAccepted") or {}
    if refused.get("status") == "False":
        raise CrdNotEstablishedError(
            f"{key_of(crd).name}: {refused.get('message')}", after_seconds=30.0
        )
    established = condition_of(crd, "Established") or {}
    return bool(established.get("status") == "True")


def _wait_served(
    client: KubeClient, resource: ApiResource, clock: Clock, deadline: float
) -> None:
    """Wait until the kind is served: after Established, each API server replica needs a
    moment.
    """
    never = threading.Event()
    while True:
        try:
            client.list_page(resource, ListOptions(limit=1))
        except NotFoundError as error:
            if clock.monotonic() >= deadline:
                raise CrdNotEstablishedError(
                    f"{resource.full_name} is not served in time", after_seconds=1.0
                ) from error
            clock.wait(never, _LOOK_SECONDS)
        else:
            return
