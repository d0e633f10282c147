"""A Kubernetes controller runtime for Python; an Azure operator is built on it.

These are the names for who embeds it; README.md beside this file explains them. Each is
imported on first use: a program pays for what it names, and never for Azure.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asoreconcile.backoff import (
        ItemExponential,
        MaxOf,
        RateLimiter,
        TokenBucket,
    )
    from asoreconcile.cache.client import CachedClient
    from asoreconcile.cache.entry import Entry
    from asoreconcile.cache.events import Added, Deleted, Event, Updated
    from asoreconcile.cache.informer import Informer, NotCachedError
    from asoreconcile.cache.informers import Informers
    from asoreconcile.cache.scope import OTHERS, Scope, Selector
    from asoreconcile.clock import Clock, SystemClock
    from asoreconcile.errors import AsoError, RetryError, StoppedError, TerminalError
    from asoreconcile.kube.client import KubeClient
    from asoreconcile.kube.cluster import ClusterConfig, KubeConfigError
    from asoreconcile.kube.conditions import condition_of, set_condition
    from asoreconcile.kube.conflicts import (
        Tries,
        change_object,
        create_or_patch,
        retry_on_conflict,
    )
    from asoreconcile.kube.discovery import Discovery, UnknownKindError
    from asoreconcile.kube.errors import (
        AlreadyExistsError,
        ApiError,
        ConflictError,
        ExpiredError,
        ForbiddenError,
        InvalidError,
        NotFoundError,
        TooManyRequestsError,
        TransportError,
        UnauthorizedError,
    )
    from asoreconcile.kube.events import EventRecorder
    from asoreconcile.kube.finalizers import (
        add_finalizer,
        has_finalizer,
        remove_finalizer,
    )
    from asoreconcile.kube.owners import (
        AlreadyOwnedError,
        controller_of,
        is_controlled_by,
        owner_reference,
        remove_owner,
        set_owner,
    )
    from asoreconcile.kube.patch import merge_patch
    from asoreconcile.kube.resources import (
        CONFIG_MAPS,
        CUSTOM_RESOURCE_DEFINITIONS,
        EVENTS,
        LEASES,
        NAMESPACES,
        SECRETS,
        ApiResource,
    )
    from asoreconcile.kube.selection import Place, Selection
    from asoreconcile.kube.writes import Write, Writes
    from asoreconcile.metrics import RuntimeMetrics
    from asoreconcile.objects import (
        GroupKind,
        GroupVersionKind,
        JsonObject,
        ObjectKey,
        is_deleting,
        key_of,
    )
    from asoreconcile.queue.workqueue import LOW_PRIORITY, Item, WorkQueue
    from asoreconcile.runtime.application import Application
    from asoreconcile.runtime.assignment import Assignment
    from asoreconcile.runtime.controller import Controller
    from asoreconcile.runtime.election import LeaseElector, lease_elector
    from asoreconcile.runtime.endpoints import Endpoints
    from asoreconcile.runtime.handlers import (
        Handler,
        enqueue_owner,
        enqueue_self,
        map_to,
    )
    from asoreconcile.runtime.health import Check, Checks, Verdict
    from asoreconcile.runtime.leader import LeaderElection, Timing
    from asoreconcile.runtime.manager import (
        Elector,
        LeadershipLostError,
        Manager,
        ManagerError,
    )
    from asoreconcile.runtime.options import CacheOptions, ClientOptions
    from asoreconcile.runtime.predicates import (
        Predicate,
        concerns,
        generation_changed,
        labelled,
    )
    from asoreconcile.runtime.reconciler import Reconcile, Reconciler, Request, Result
    from asoreconcile.runtime.service import Group, Service, Standby, Step, Task
    from asoreconcile.runtime.tenure import NotLeadingError
    from asoreconcile.runtime.throttle import Throttle
    from asoreconcile.serving.listener import ListenError
    from asoreconcile.threads import Threads
    from asoreconcile.version import __version__
    from asoreconcile.webhooks.admission import (
        AdmissionRequest,
        Allowed,
        Denied,
        Mutate,
        Validate,
    )
    from asoreconcile.webhooks.bundles import Caller
    from asoreconcile.webhooks.certificates import FileCertificates
    from asoreconcile.webhooks.conversion import ConversionError, Convert
    from asoreconcile.webhooks.managed import ManagedCertificates
    from asoreconcile.webhooks.metrics import WebhookMetrics
    from asoreconcile.webhooks.server import WebhookError, WebhookServer, webhook_path

__all__ = [
    "CONFIG_MAPS",
    "CUSTOM_RESOURCE_DEFINITIONS",
    "EVENTS",
    "LEASES",
    "LOW_PRIORITY",
    "NAMESPACES",
    "OTHERS",
    "SECRETS",
    "Added",
    "AdmissionRequest",
    "Allowed",
    "AlreadyExistsError",
    "AlreadyOwnedError",
    "ApiError",
    "ApiResource",
    "Application",
    "AsoError",
    "Assignment",
    "CacheOptions",
    "CachedClient",
    "Caller",
    "Check",
    "Checks",
    "ClientOptions",
    "Clock",
    "ClusterConfig",
    "ConflictError",
    "Controller",
    "ConversionError",
    "Convert",
    "Deleted",
    "Denied",
    "Discovery",
    "Elector",
    "Endpoints",
    "Entry",
    "Event",
    "EventRecorder",
    "ExpiredError",
    "FileCertificates",
    "ForbiddenError",
    "Group",
    "GroupKind",
    "GroupVersionKind",
    "Handler",
    "Informer",
    "Informers",
    "InvalidError",
    "Item",
    "ItemExponential",
    "JsonObject",
    "KubeClient",
    "KubeConfigError",
    "LeaderElection",
    "LeadershipLostError",
    "LeaseElector",
    "ListenError",
    "ManagedCertificates",
    "Manager",
    "ManagerError",
    "MaxOf",
    "Mutate",
    "NotCachedError",
    "NotFoundError",
    "NotLeadingError",
    "ObjectKey",
    "Place",
    "Predicate",
    "RateLimiter",
    "Reconcile",
    "Reconciler",
    "Request",
    "Result",
    "RetryError",
    "RuntimeMetrics",
    "Scope",
    "Selection",
    "Selector",
    "Service",
    "Standby",
    "Step",
    "StoppedError",
    "SystemClock",
    "Task",
    "TerminalError",
    "Threads",
    "Throttle",
    "Timing",
    "TokenBucket",
    "TooManyRequestsError",
    "TransportError",
    "Tries",
    "UnauthorizedError",
    "UnknownKindError",
    "Updated",
    "Validate",
    "Verdict",
    "WebhookError",
    "WebhookMetrics",
    "WebhookServer",
    "WorkQueue",
    "Write",
    "Writes",
    "__version__",
    "add_finalizer",
    "change_object",
    "concerns",
    "condition_of",
    "controller_of",
    "create_or_patch",
    "enqueue_owner",
    "enqueue_self",
    "generation_changed",
    "has_finalizer",
    "is_controlled_by",
    "is_deleting",
    "key_of",
    "labelled",
    "lease_elector",
    "map_to",
    "merge_patch",
    "owner_reference",
    "remove_finalizer",
    "remove_owner",
    "retry_on_conflict",
    "set_condition",
    "set_owner",
    "webhook_path",
]

_HOMES = {
    "backoff": (
        "ItemExponential",
        "MaxOf",
        "RateLimiter",
        "TokenBucket",
    ),
    "cache.client": ("CachedClient",),
    "cache.entry": ("Entry",),
    "cache.events": ("Added", "Deleted", "Event", "Updated"),
    "cache.informer": ("Informer", "NotCachedError"),
    "cache.informers": ("Informers",),
    "cache.scope": ("OTHERS", "Scope", "Selector"),
    "clock": ("Clock", "SystemClock"),
    "errors": ("AsoError", "RetryError", "StoppedError", "TerminalError"),
    "kube.client": ("KubeClient",),
    "kube.cluster": ("ClusterConfig", "KubeConfigError"),
    "kube.conditions": ("condition_of", "set_condition"),
    "kube.conflicts": (
        "Tries",
        "change_object",
        "create_or_patch",
        "retry_on_conflict",
    ),
    "kube.discovery": ("Discovery", "UnknownKindError"),
    "kube.errors": (
        "AlreadyExistsError",
        "ApiError",
        "ConflictError",
        "ExpiredError",
        "ForbiddenError",
        "InvalidError",
        "NotFoundError",
        "TooManyRequestsError",
        "TransportError",
        "UnauthorizedError",
    ),
    "kube.events": ("EventRecorder",),
    "kube.finalizers": ("add_finalizer", "has_finalizer", "remove_finalizer"),
    "kube.owners": (
        "AlreadyOwnedError",
        "controller_of",
        "is_controlled_by",
        "owner_reference",
        "remove_owner",
        "set_owner",
    ),
    "kube.patch": ("merge_patch",),
    "kube.resources": (
        "CONFIG_MAPS",
        "CUSTOM_RESOURCE_DEFINITIONS",
        "EVENTS",
        "LEASES",
        "NAMESPACES",
        "SECRETS",
        "ApiResource",
    ),
    "kube.selection": ("Place", "Selection"),
    "kube.writes": ("Write", "Writes"),
    "metrics": ("RuntimeMetrics",),
    "objects": (
        "GroupKind",
        "GroupVersionKind",
        "JsonObject",
        "ObjectKey",
        "is_deleting",
        "key_of",
    ),
    "queue.workqueue": ("LOW_PRIORITY", "Item", "WorkQueue"),
    "runtime.application": ("Application",),
    "runtime.assignment": ("Assignment",),
    "runtime.controller": ("Controller",),
    "runtime.election": ("LeaseElector", "lease_elector"),
    "runtime.endpoints": ("Endpoints",),
    "runtime.handlers": ("Handler", "enqueue_owner", "enqueue_self", "map_to"),
    "runtime.health": ("Check", "Checks", "Verdict"),
    "runtime.leader": ("LeaderElection", "Timing"),
    "runtime.manager": ("Elector", "LeadershipLostError", "Manager", "ManagerError"),
    "runtime.options": ("CacheOptions", "ClientOptions"),
    "runtime.predicates": (
        "Predicate",
        "concerns",
        "generation_changed",
        "labelled",
    ),
    "runtime.reconciler": ("Reconcile", "Reconciler", "Request", "Result"),
    "runtime.service": ("Group", "Service", "Standby", "Step", "Task"),
    "runtime.tenure": ("NotLeadingError",),
    "runtime.throttle": ("Throttle",),
    "serving.listener": ("ListenError",),
    "threads": ("Threads",),
    "version": ("__version__",),
    "webhooks.admission": (
        "AdmissionRequest",
        "Allowed",
        "Denied",
        "Mutate",
        "Validate",
    ),
    "webhooks.bundles": ("Caller",),
    "webhooks.certificates": ("FileCertificates",),
    "webhooks.conversion": ("ConversionError", "Convert"),
    "webhooks.managed": ("ManagedCertificates",),
    "webhooks.metrics": ("WebhookMetrics",),
    "webhooks.server": ("WebhookError", "WebhookServer", "webhook_path"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

if not TYPE_CHECKING:  # a type checker is to know no other names

    def __getattr__(name: str) -> Any:
        home = _HOME_OF.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{home}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
