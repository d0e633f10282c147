"""Find the objects that use a credential Secret, and wake them if its content changes.

An object without a working credential continues once there is one. A Ready object shows
at once if its new credential does not work. The caches keep the index.
"""

from collections.abc import Callable, Iterable, Iterator

from asoreconcile.azure.catalogue.reserved import NAMESPACE_SECRET
from asoreconcile.azure.controllers.credential_hold import CredentialHold
from asoreconcile.azure.controllers.credential_resolver import CredentialResolver
from asoreconcile.azure.controllers.kind_registry import (
    KindRegistry,
    RunningKind,
    failure_limiter,
)
from asoreconcile.azure.reconcile.model.annotation_bounds import bounded
from asoreconcile.azure.reconcile.model.conditions import is_ready
from asoreconcile.azure.reconcile.model.instructions import CREDENTIAL_FROM_ROW
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import ObjectKey
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added, Event, Updated
from asoreconcile.cache.informer import Informer
from asoreconcile.kube.resources import SECRETS
from asoreconcile.queue.workqueue import LOW_PRIORITY
from asoreconcile.runtime.application import Application
from asoreconcile.runtime.options import ControllerOptions
from asoreconcile.runtime.reconciler import Request, Result

_log = Logger(__name__)

_INDEX = "credential"


class CredentialWatcher:
    """`runtime.reconciler.Reconciler` for Secrets: one at a time."""

    def __init__(
        self,
        kept: CredentialResolver,
        kinds: KindRegistry,
        hold: CredentialHold,
    ) -> None:
        """hold: keeps Secrets that are in use."""
        self._kept = kept
        self._kinds = kinds
        self._hold = hold
        self._announced: dict[ObjectKey, str] = {}
        self._enqueue: Callable[[ObjectKey], object] = lambda _: None

    def on_azure_object(self, event: Event) -> None:
        """Handle an object that was created or deleted: the finalizer of its Secret may
        have to change. Never blocks.
        """
        if not self._hold.is_wanted:
            return
        entries = (
            (event.old, event.new) if isinstance(event, Updated) else (event.entry,)
        )
        keys = [_secret_of(entry) for entry in entries]
        if isinstance(event, Updated) and keys[0] == keys[1]:
            return
        for key in keys:
            self._enqueue(key)

    def setup_with(self, app: Application) -> None:
        """Register for watch events of Secrets."""
        added = app.reconcile(
            app.informer(SECRETS, metadata_only=True),
            self,
            name="credentials",
            when=is_change,
            options=ControllerOptions(limiter=failure_limiter(app.clock)),
        )
        self._enqueue = added.controller.enqueue

    def reconcile(self, request: Request) -> Result:
        """Wake the objects that use a Secret.

        Objects that were woken for this content, or already use it, are left out: a
        Secret is often applied together with them. Blocks for a read of the Secret if
        there is any user.
        Raises ApiError, TransportError, CredentialError.
        """
        users = list(self._users(request.key))
        self._hold.update(request.key, is_used=bool(users))
        if not users:
            self._announced.pop(request.key, None)
            self._kept.forget(request.key)
            return Result()
        digest = self._kept.digest(request.key)
        # A Secret's resource version also moves with its labels and annotations.
        if digest and self._announced.get(request.key) == digest:
            return Result()
        if digest:
            self._announced[request.key] = digest
        else:
            self._announced.pop(request.key, None)
        _log.info("Credential changed", secret=str(request.key), users=len(users))
        for kind, entry in users:
            if kind.memories.has_used(entry.key, digest):
                continue
            # Ready objects get a lower priority than those that wait.
            priority = LOW_PRIORITY if is_ready(entry.deep_copy()) else 0
            kind.controller.enqueue(entry.key, priority=priority)
        return Result()

    def _users(self, secret: ObjectKey) -> Iterator[tuple[RunningKind, Entry]]:
        for kind in self._kinds.running().values():
            for key in kind.informer.by_index(_INDEX, str(secret)):
                entry = kind.informer.entry(key)
                if entry is not None:
                    yield kind, entry


def is_named_credential(kinds: KindRegistry, secret: ObjectKey) -> bool:
    """Return whether an object names a Secret as its credential. Any thread."""
    running, name = kinds.running().values(), str(secret)
    return any(kind.informer.by_index(_INDEX, name) for kind in running)


def index_credentials(informer: Informer) -> None:
    """Add an index by the credential's Secret to a kind's cache."""
    informer.add_index(_INDEX, _credential_of)


def is_change(event: Event) -> bool:
    """Return whether a Secret may have changed.

    Secrets of the initial list do not count, because the start reconciles all objects
    anyway.
    """
    match event:
        case Added(initial=initial):
            return not initial
        case Updated(old=old, new=new):
            return old.resource_version != new.resource_version
        case _:
            return True


def _credential_of(entry: Entry) -> Iterable[str]:
    return (str(_secret_of(entry)),)


def _secret_of(entry: Entry) -> ObjectKey:
    name = CREDENTIAL_FROM_ROW.text(bounded(entry.annotations)) or NAMESPACE_SECRET
    return ObjectKey(entry.namespace, name)
