"""Let a namespace sign in with a credential that its own objects export.

Azure Service Operator does so always. Here an administrator allows it by an annotation
of the Namespace, as the author of an export chooses the identity of others.
"""

from collections.abc import Callable

import attrs

from asoreconcile.azure.catalogue.reserved import EXPORT_MARK, export_parts
from asoreconcile.azure.reconcile.model.annotations import EXPORTS_AS_CREDENTIALS
from asoreconcile.azure.reconcile.model.record_key import RecordKey
from asoreconcile.base.objects import JsonObject, ObjectKey, annotations, key_of
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.resources import NAMESPACES


@attrs.frozen
class OwnExports:
    """Says whether an exported Secret may be a credential. Safe from any thread.

    reader: reads the Namespace. record_key: the key that marked the exports.
    """

    reader: KubeClient
    record_key: Callable[[], RecordKey]

    def __call__(self, secret: JsonObject) -> bool:
        """Return whether this operator exported the Secret under this name, and the
        Namespace allows it. Blocks for one read; raises ApiError, TransportError,
        ConditionError `RecordKeyUnreadable`.
        """
        key = key_of(secret)
        mark = annotations(secret).get(EXPORT_MARK) or ""
        if not self.record_key().verify(export_parts(key), mark):
            return False
        live = self.reader.get(NAMESPACES, ObjectKey("", key.namespace))
        return annotations(live).get(EXPORTS_AS_CREDENTIALS) == "true"
