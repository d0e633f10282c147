"""The process's connections to Azure, created when an object first needs one.

The modules that reconcile are loaded with the first object, not at the start: a replica
that does not lead, and one for webhooks, never need them (half of all modules). The
connections are closed when the application ends.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from asoreconcile.azure.arm.credentials import CredentialSource
from asoreconcile.azure.arm.metrics import ArmMetrics
from asoreconcile.azure.catalogue.reserved import (
    EXPORT_MARK,
    SETTINGS_SECRET,
    export_parts,
)
from asoreconcile.azure.controllers.credential_resolver import CredentialResolver
from asoreconcile.azure.controllers.settings import Settings
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.instructions import EXPORTS_AS_CREDENTIALS_ROW
from asoreconcile.azure.reconcile.model.switches import is_on
from asoreconcile.base.lazy import Lazy
from asoreconcile.base.objects import GroupKind, JsonObject, ObjectKey, key_of
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.resources import NAMESPACES, SECRETS
from asoreconcile.runtime.application import Application

if TYPE_CHECKING:
    from asoreconcile.azure.controllers.arm_client_factory import ArmClientFactory
    from asoreconcile.azure.reconcile.model.record_key import RecordKey
    from asoreconcile.azure.reconcile.scope.shared_dependencies import Connection

# The number of kinds whose workers may all use Azure at once.
_BUSY_KINDS = 16


class AzureConnections:
    """The connections of one application. Safe from any thread; creating it sends
    nothing.
    """

    def __init__(
        self, app: Application, settings: Settings, *, seen: Callable[[GroupKind], str]
    ) -> None:
        """seen: argument of `CredentialResolver`."""
        self._app = app
        self._settings = settings
        # Created at once, unlike the factory: otherwise the metric family would be
        # missing until the first request.
        self._metrics = ArmMetrics(app.registry)
        self._factory = Lazy(self._make_factory)
        self._record_key = Lazy(self._make_record_key)
        self.resolver = CredentialResolver(
            app.client,
            app.informer(SECRETS, metadata_only=True),
            connect=self._connect,
            rules=settings.credentials,
            settings=Lazy(self._connect_settings),
            seen=seen,
            clock=app.clock,
            namespace=settings.pod_namespace,
            widens=settings.wider_credentials,
            may_use_export=self._may_use_export,
            tokens=self._tokens() if settings.strict_workload_identity else None,
        )
        """Which of them an object uses."""

    def _connect(
        self, source: CredentialSource, name: str, *, entra_app_id: str = ""
    ) -> "Connection":
        return self._factory()(source, name, entra_app_id=entra_app_id)

    def _may_use_export(self, secret: JsonObject) -> bool:
        return is_own_export(self._app.client, self._record_key(), secret)

    def _make_record_key(self) -> "Callable[[], RecordKey]":
        from asoreconcile.azure.controllers.record_key_secret import RecordKeySecret

        app, namespace = self._app, self._settings.pod_namespace
        return RecordKeySecret(app.client, namespace, app.clock)

    def _tokens(self) -> Callable[[str], str]:
        from asoreconcile.azure.controllers.workload_tokens import WorkloadTokens

        return WorkloadTokens(self._app.client, self._app.clock)

    def _make_factory(self) -> "ArmClientFactory":
        from asoreconcile.azure.controllers.arm_client_factory import ArmClientFactory

        factory = ArmClientFactory(
            clock=self._app.clock,
            metrics=self._metrics,
            user_agent=self._settings.user_agent_suffix,
            connections=_BUSY_KINDS * self._settings.max_concurrent_reconciles,
            before_write=self._app.fence,
            graph_endpoint=self._settings.graph_endpoint,
        )
        self._app.on_close(factory.close)
        return factory

    def _connect_settings(self) -> "Connection | None":
        settings = self._settings
        if settings.credential is None:
            return None
        source = f"{settings.pod_namespace}/{SETTINGS_SECRET}"
        app = settings.entra_app_id
        return self._connect(settings.credential, source, entra_app_id=app)


def is_own_export(
    reader: KubeClient, record_key: "Callable[[], RecordKey]", secret: JsonObject
) -> bool:
    """Return whether this operator exported the Secret under this name, and its
    Namespace lets the exports of its objects be credentials.

    In Azure Service Operator exports can always be credentials. Here an administrator
    must allow it by an annotation of the Namespace, because the author of an export
    would choose the identity of other objects. Blocks for one read; raises ApiError,
    TransportError, ConditionError `RecordKeyUnreadable`.
    """
    key = key_of(secret)
    mark = annotations(secret).get(EXPORT_MARK) or ""
    if not record_key().verify(export_parts(key), mark):
        return False
    live = reader.get(NAMESPACES, ObjectKey("", key.namespace))
    return is_on(annotations(live), EXPORTS_AS_CREDENTIALS_ROW)
