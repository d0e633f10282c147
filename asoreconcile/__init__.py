"""A Kubernetes controller runtime for Python.

These are the public names; README.md beside this file explains them. Each is imported
on first use, so a program loads only the modules it uses.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asoreconcile.base import log as log
    from asoreconcile.base import reconcile_context as reconcile_context
    from asoreconcile.base.backoff import (
        ItemExponential,
        RateLimiter,
        TokenBucket,
    )
    from asoreconcile.base.clock import Clock, SystemClock
    from asoreconcile.base.errors import (
        AsoreconcileError,
        RetryError,
        StoppedError,
        TerminalError,
    )
    from asoreconcile.base.objects import (
        GroupKind,
        GroupVersionKind,
        JsonObject,
        ObjectKey,
        is_deleting,
        key_of,
    )
    from asoreconcile.base.retry import Backoff
    from asoreconcile.base.threads import Threads
    from asoreconcile.base.tracing import Tracing
    from asoreconcile.cache.client import CachedClient
    from asoreconcile.cache.entry import Entry, OwnerReference
    from asoreconcile.cache.events import Added, Deleted, Event, Updated
    from asoreconcile.cache.informer import Informer, NotCachedError
    from asoreconcile.cache.informers import Informers
    from asoreconcile.cache.scope import (
        ALL_OTHER_NAMESPACES,
        CacheOptions,
        Scope,
        Selector,
    )
    from asoreconcile.cache.unreadable import Unreadable
    from asoreconcile.kube.client import KubeClient
    from asoreconcile.kube.cluster import ClusterConfig, KubeConfigError
    from asoreconcile.kube.conditions import condition_of, set_condition
    from asoreconcile.kube.create_or_patch import (
        create_or_patch,
        patch_object,
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
        CRON_JOBS,
        CUSTOM_RESOURCE_DEFINITIONS,
        DAEMON_SETS,
        DEPLOYMENTS,
        EVENTS,
        INGRESSES,
        JOBS,
        LEASES,
        NAMESPACES,
        NETWORK_POLICIES,
        NODES,
        PERSISTENT_VOLUME_CLAIMS,
        POD_DISRUPTION_BUDGETS,
        PODS,
        REPLICA_SETS,
        SECRETS,
        SERVICE_ACCOUNTS,
        SERVICES,
        STATEFUL_SETS,
        ApiResource,
    )
    from asoreconcile.kube.selection import ListOptions, Selection
    from asoreconcile.kube.writes import Write, Writes
    from asoreconcile.observability.metrics import RuntimeMetrics
    from asoreconcile.queue.workqueue import LOW_PRIORITY, Item, WorkQueue
    from asoreconcile.resources.annotations import (
        PrinterColumn,
        Rule,
        ScalePaths,
        Schema,
    )
    from asoreconcile.resources.class_fields import ResourceError
    from asoreconcile.resources.client import TypedCachedClient, TypedClient
    from asoreconcile.resources.codec import ObjectDecodeError
    from asoreconcile.resources.conversions import Conversions, convert_kinds
    from asoreconcile.resources.crd import crd_of
    from asoreconcile.resources.declaration import evolve, resource
    from asoreconcile.resources.informer import TypedInformer
    from asoreconcile.resources.installation import CrdNotEstablishedError
    from asoreconcile.resources.metadata import (
        Condition,
        Conditions,
        ObjectMeta,
        ObjectOwner,
        update_condition,
    )
    from asoreconcile.resources.typed_kind import (
        HasMetadata,
        from_dict,
        resource_of,
        to_dict,
    )
    from asoreconcile.resources.values import Quantity
    from asoreconcile.resources.webhooks import (
        TypedMutate,
        TypedValidate,
        TypedWebhookServer,
    )
    from asoreconcile.runtime.application import Application
    from asoreconcile.runtime.builder import ControllerBuilder
    from asoreconcile.runtime.cluster import Cluster, ClusterOptions
    from asoreconcile.runtime.controller import Controller
    from asoreconcile.runtime.detached import NotReadyError
    from asoreconcile.runtime.endpoints import Endpoints
    from asoreconcile.runtime.handlers import (
        Handler,
        enqueue_owner,
        enqueue_self,
        map_to,
    )
    from asoreconcile.runtime.health import Checker, CheckResult, HealthChecks
    from asoreconcile.runtime.leaderelection.elector import LeaseElector, lease_elector
    from asoreconcile.runtime.leaderelection.fence import NotLeadingError
    from asoreconcile.runtime.leaderelection.lease import (
        LeaderElectionOptions,
        LeaseTiming,
    )
    from asoreconcile.runtime.manager import LeadershipLostError, Manager, ManagerError
    from asoreconcile.runtime.options import ClientOptions, ControllerOptions
    from asoreconcile.runtime.predicates import (
        Predicate,
        concerns,
        generation_changed,
        labelled,
    )
    from asoreconcile.runtime.reconciler import Reconcile, Reconciler, Request, Result
    from asoreconcile.runtime.runnable import (
        Elector,
        Runnable,
        RunnableFunc,
        RunnableGroup,
        RunnableHooks,
        WarmUpRunnable,
    )
    from asoreconcile.runtime.sources import Watch
    from asoreconcile.runtime.typed_reconciler import TypedReconcile, TypedReconciler
    from asoreconcile.runtime.worker import Throttle
    from asoreconcile.serving.listener import ListenError
    from asoreconcile.version import __version__
    from asoreconcile.webhooks.admission import (
        AdmissionRequest,
        Allowed,
        Denied,
        Mutate,
        Validate,
    )
    from asoreconcile.webhooks.ca_bundles import WebhookTarget
    from asoreconcile.webhooks.configurations import WebhookRules
    from asoreconcile.webhooks.conversion import ConversionError, Convert
    from asoreconcile.webhooks.managed import ManagedCertificates
    from asoreconcile.webhooks.metrics import WebhookMetrics
    from asoreconcile.webhooks.server import (
        WebhookError,
        WebhookLimits,
        WebhookServer,
        webhook_path,
    )
    from asoreconcile.webhooks.serving_certificates import FileCertificates
    from asoreconcile.wire.trust import TlsTrust

__all__ = [
    "ALL_OTHER_NAMESPACES",
    "CONFIG_MAPS",
    "CRON_JOBS",
    "CUSTOM_RESOURCE_DEFINITIONS",
    "DAEMON_SETS",
    "DEPLOYMENTS",
    "EVENTS",
    "INGRESSES",
    "JOBS",
    "LEASES",
    "LOW_PRIORITY",
    "NAMESPACES",
    "NETWORK_POLICIES",
    "NODES",
    "PERSISTENT_VOLUME_CLAIMS",
    "PODS",
    "POD_DISRUPTION_BUDGETS",
    "REPLICA_SETS",
    "SECRETS",
    "SERVICES",
    "SERVICE_ACCOUNTS",
    "STATEFUL_SETS",
    "Added",
    "AdmissionRequest",
    "Allowed",
    "AlreadyExistsError",
    "AlreadyOwnedError",
    "ApiError",
    "ApiResource",
    "Application",
    "AsoreconcileError",
    "Backoff",
    "CacheOptions",
    "CachedClient",
    "CheckResult",
    "Checker",
    "ClientOptions",
    "Clock",
    "Cluster",
    "ClusterConfig",
    "ClusterOptions",
    "Condition",
    "Conditions",
    "ConflictError",
    "Controller",
    "ControllerBuilder",
    "ControllerOptions",
    "ConversionError",
    "Conversions",
    "Convert",
    "CrdNotEstablishedError",
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
    "GroupKind",
    "GroupVersionKind",
    "Handler",
    "HasMetadata",
    "HealthChecks",
    "Informer",
    "Informers",
    "InvalidError",
    "Item",
    "ItemExponential",
    "JsonObject",
    "KubeClient",
    "KubeConfigError",
    "LeaderElectionOptions",
    "LeadershipLostError",
    "LeaseElector",
    "LeaseTiming",
    "ListOptions",
    "ListenError",
    "ManagedCertificates",
    "Manager",
    "ManagerError",
    "Mutate",
    "NotCachedError",
    "NotFoundError",
    "NotLeadingError",
    "NotReadyError",
    "ObjectDecodeError",
    "ObjectKey",
    "ObjectMeta",
    "ObjectOwner",
    "OwnerReference",
    "Predicate",
    "PrinterColumn",
    "Quantity",
    "RateLimiter",
    "Reconcile",
    "Reconciler",
    "Request",
    "ResourceError",
    "Result",
    "RetryError",
    "Rule",
    "Runnable",
    "RunnableFunc",
    "RunnableGroup",
    "RunnableHooks",
    "RuntimeMetrics",
    "ScalePaths",
    "Schema",
    "Scope",
    "Selection",
    "Selector",
    "StoppedError",
    "SystemClock",
    "TerminalError",
    "Threads",
    "Throttle",
    "TlsTrust",
    "TokenBucket",
    "TooManyRequestsError",
    "Tracing",
    "TransportError",
    "TypedCachedClient",
    "TypedClient",
    "TypedInformer",
    "TypedMutate",
    "TypedReconcile",
    "TypedReconciler",
    "TypedValidate",
    "TypedWebhookServer",
    "UnauthorizedError",
    "UnknownKindError",
    "Unreadable",
    "Updated",
    "Validate",
    "WarmUpRunnable",
    "Watch",
    "WebhookError",
    "WebhookLimits",
    "WebhookMetrics",
    "WebhookRules",
    "WebhookServer",
    "WebhookTarget",
    "WorkQueue",
    "Write",
    "Writes",
    "__version__",
    "add_finalizer",
    "concerns",
    "condition_of",
    "controller_of",
    "convert_kinds",
    "crd_of",
    "create_or_patch",
    "enqueue_owner",
    "enqueue_self",
    "evolve",
    "from_dict",
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
    "patch_object",
    "remove_finalizer",
    "remove_owner",
    "resource",
    "resource_of",
    "retry_on_conflict",
    "set_condition",
    "set_owner",
    "to_dict",
    "update_condition",
    "webhook_path",
]

_HOMES = {
    "base.backoff": "ItemExponential RateLimiter TokenBucket",
    "cache.client": "CachedClient",
    "cache.entry": "Entry OwnerReference",
    "cache.events": "Added Deleted Event Updated",
    "cache.informer": "Informer NotCachedError",
    "cache.informers": "Informers",
    "cache.scope": "ALL_OTHER_NAMESPACES CacheOptions Scope Selector",
    "cache.unreadable": "Unreadable",
    "base.clock": "Clock SystemClock",
    "base.errors": "AsoreconcileError RetryError StoppedError TerminalError",
    "kube.client": "KubeClient",
    "kube.cluster": "ClusterConfig KubeConfigError",
    "kube.conditions": "condition_of set_condition",
    "kube.create_or_patch": "create_or_patch patch_object retry_on_conflict",
    "kube.discovery": "Discovery UnknownKindError",
    "kube.errors": (
        "AlreadyExistsError ApiError ConflictError ExpiredError ForbiddenError "
        "InvalidError NotFoundError TooManyRequestsError TransportError "
        "UnauthorizedError"
    ),
    "kube.events": "EventRecorder",
    "kube.finalizers": "add_finalizer has_finalizer remove_finalizer",
    "kube.owners": (
        "AlreadyOwnedError controller_of is_controlled_by owner_reference "
        "remove_owner set_owner"
    ),
    "kube.patch": "merge_patch",
    "kube.resources": (
        "ApiResource CONFIG_MAPS CRON_JOBS CUSTOM_RESOURCE_DEFINITIONS "
        "DAEMON_SETS DEPLOYMENTS EVENTS INGRESSES JOBS LEASES NAMESPACES "
        "NETWORK_POLICIES NODES PERSISTENT_VOLUME_CLAIMS PODS "
        "POD_DISRUPTION_BUDGETS REPLICA_SETS SECRETS SERVICES SERVICE_ACCOUNTS "
        "STATEFUL_SETS"
    ),
    "kube.selection": "ListOptions Selection",
    "kube.writes": "Write Writes",
    "observability.metrics": "RuntimeMetrics",
    "base.objects": (
        "GroupKind GroupVersionKind JsonObject ObjectKey is_deleting key_of"
    ),
    "queue.workqueue": "Item LOW_PRIORITY WorkQueue",
    "resources.annotations": "PrinterColumn Rule ScalePaths Schema",
    "resources.class_fields": "ResourceError",
    "resources.client": "TypedCachedClient TypedClient",
    "resources.codec": "ObjectDecodeError",
    "resources.conversions": "Conversions convert_kinds",
    "resources.crd": "crd_of",
    "resources.installation": "CrdNotEstablishedError",
    "resources.declaration": "evolve resource",
    "resources.typed_kind": "HasMetadata from_dict resource_of to_dict",
    "resources.informer": "TypedInformer",
    "resources.metadata": (
        "Condition Conditions ObjectMeta ObjectOwner update_condition"
    ),
    "resources.values": "Quantity",
    "resources.webhooks": "TypedMutate TypedValidate TypedWebhookServer",
    "base.retry": "Backoff",
    "runtime.application": "Application",
    "runtime.builder": "ControllerBuilder",
    "runtime.cluster": "Cluster ClusterOptions",
    "runtime.controller": "Controller",
    "runtime.detached": "NotReadyError",
    "runtime.endpoints": "Endpoints",
    "runtime.handlers": "Handler enqueue_owner enqueue_self map_to",
    "runtime.health": "Checker CheckResult HealthChecks",
    "runtime.leaderelection.elector": "LeaseElector lease_elector",
    "runtime.leaderelection.fence": "NotLeadingError",
    "runtime.leaderelection.lease": "LeaderElectionOptions LeaseTiming",
    "runtime.manager": "LeadershipLostError Manager ManagerError",
    "runtime.options": "ClientOptions ControllerOptions",
    "runtime.predicates": "Predicate concerns generation_changed labelled",
    "runtime.reconciler": "Reconcile Reconciler Request Result",
    "runtime.runnable": (
        "Elector Runnable RunnableFunc RunnableGroup RunnableHooks WarmUpRunnable"
    ),
    "runtime.sources": "Watch",
    "runtime.typed_reconciler": "TypedReconcile TypedReconciler",
    "runtime.worker": "Throttle",
    "serving.listener": "ListenError",
    "base.threads": "Threads",
    "base.tracing": "Tracing",
    "version": "__version__",
    "webhooks.admission": "AdmissionRequest Allowed Denied Mutate Validate",
    "webhooks.ca_bundles": "WebhookTarget",
    "webhooks.serving_certificates": "FileCertificates",
    "webhooks.configurations": "WebhookRules",
    "webhooks.conversion": "ConversionError Convert",
    "webhooks.managed": "ManagedCertificates",
    "webhooks.metrics": "WebhookMetrics",
    "webhooks.server": "WebhookError WebhookLimits WebhookServer webhook_path",
    "wire.trust": "TlsTrust",
}
_MODULES = ("log", "reconcile_context")  # of `base`, public as whole modules
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

if not TYPE_CHECKING:  # hidden from type checkers, which should know no other names

    def __getattr__(name: str) -> Any:
        home = _HOME_OF.get(name)
        if name in _MODULES:
            value: Any = import_module(f"{__name__}.base.{name}")
        elif home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        else:
            value = getattr(import_module(f"{__name__}.{home}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, *_MODULES})
