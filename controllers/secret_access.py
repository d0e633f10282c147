"""Make sure that whoever writes a spec may get the Secrets that it names.

Otherwise the author of a custom resource could send a Secret that only the operator may
read to a resource in Azure, and read it there. The API server checks each write itself,
by a policy that an administrator installs (`catalogue.secret_policy`). If there is
none, the webhook asks the API server about the writer, but only if it answers to API
servers alone: anyone else could name any user. An administrator switches on both.
"""

import threading
from collections.abc import Iterable

import attrs

from asoreconcile.azure.catalogue.inputs import has_secrets, inputs_of
from asoreconcile.azure.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.azure.catalogue.secret_policy import (
    POLICIES_API,
    POLICY_NAME,
    why_not_in_force,
)
from asoreconcile.azure.reconcile.model.annotations import CREDENTIAL_FROM
from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import JsonObject, ObjectKey, annotations, spec
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import ApiError, NotFoundError, TransportError
from asoreconcile.kube.resources import ApiResource
from asoreconcile.runtime.metrics_authorization import AccessReviews
from asoreconcile.webhooks.admission import AdmissionRequest

_GROUP, _VERSION = POLICIES_API.split("/")
POLICIES = ApiResource(
    _GROUP,
    _VERSION,
    "validatingadmissionpolicies",
    "ValidatingAdmissionPolicy",
    namespaced=False,
)
BINDINGS = ApiResource(
    _GROUP,
    _VERSION,
    "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding",
    namespaced=False,
)
# An administrator who installs the policy sees the condition go within minutes.
_KEPT_SECONDS = 60.0
_SECRET_KINDS = frozenset({"secret", "secret-map"})


def why_no_policy(client: KubeClient, catalogue: Catalogue) -> str:
    """Return why the cluster's policy does not check who names a Secret; "" if it does.

    Blocking: two reads.
    """
    try:
        policy, binding = _read(client, POLICIES), _read(client, BINDINGS)
    except (ApiError, TransportError) as error:
        return f"the ValidatingAdmissionPolicy {POLICY_NAME} cannot be read: {error}"
    return why_not_in_force(policy, binding, catalogue.kinds())


def _read(client: KubeClient, resource: ApiResource) -> JsonObject | None:
    try:
        return client.get(resource, ObjectKey("", POLICY_NAME))
    except NotFoundError:
        return None


class SecretAccessCheck:
    """Says whether writers of specs are checked in this cluster. Safe from any thread.

    An answer is kept for a minute.
    """

    def __init__(
        self,
        client: KubeClient,
        catalogue: Catalogue,
        clock: Clock,
        *,
        asks_for_certificates: bool,
    ) -> None:
        """asks_for_certificates: whether this process serves admission webhooks, and to
        API servers with a certificate only.
        """
        self._client = client
        self._catalogue = catalogue
        self._clock = clock
        self._is_asked = asks_for_certificates
        self._lock = threading.Lock()
        self._until = 0.0
        self._why = ""

    def __call__(self, version: KindVersion, obj: JsonObject) -> str:
        """Return why the writer of an object's spec was not checked; "" if it was, or
        if the spec names no Secret. Blocks for two reads at most.
        """
        if self._is_asked or not any(named_secrets(version, obj)):
            return ""
        with self._lock:
            now = self._clock.monotonic()
            if now >= self._until:
                self._why = self._asked()
                self._until = now + _KEPT_SECONDS
            return self._why

    def _asked(self) -> str:
        why = why_no_policy(self._client, self._catalogue)
        if not why:
            return ""
        return (
            "ASORECONCILE_CHECK_SECRET_ACCESS is set, but no API server checks whether "
            f"the writer may get the Secrets that the spec names: {why}. "
            "Install deploy/secret-policy.yaml, or let the webhooks ask API servers "
            "for a certificate"
        )


def named_secrets(version: KindVersion, obj: JsonObject) -> Iterable[str]:
    """Yield the names of the Secrets that a spec names."""
    if not has_secrets(version.table):
        return
    for given in inputs_of(version, spec(obj)):
        if given.kind in _SECRET_KINDS:
            yield str(given.value.get("name") or "")


@attrs.frozen
class WriterAccess:
    """Checks writers at admission (`admission.Admission`), as the policy would. Safe
    from any thread.

    reviews: asks the API server. Use it only where callers of the webhook are known.
    """

    reviews: AccessReviews

    def __call__(
        self, request: AdmissionRequest, version: KindVersion, *, is_stored: bool
    ) -> str:
        """Return why a write is refused, or "". is_stored: whether it is a write of a
        stored form, in which names may be hidden.

        Blocking; raises AsoreconcileError.
        """
        obj, old = request.obj or {}, request.old
        if old is not None and _written(obj) == _written(old):
            return ""
        if not has_secrets(version.table):
            return ""
        names = set(named_secrets(version, obj))
        if not names and not is_stored:
            return ""
        namespace = request.key.namespace
        if self._may(request.user, namespace, ""):
            return ""
        if is_stored:
            return "a stored form may name any Secret: write another version"
        for name in sorted(names):
            if not self._may(request.user, namespace, name):
                return f"you may not get the Secret {name}, which the spec names"
        return ""

    def _may(self, user: JsonObject, namespace: str, name: str) -> bool:
        wanted = {"namespace": namespace, "verb": "get", "resource": "secrets"}
        named = {"name": name} if name else {}
        return self.reviews.allow(user, resourceAttributes={**wanted, **named})


def _written(obj: JsonObject) -> tuple[JsonObject, str | None]:
    """Return the parts of an object that decide which Secrets go where."""
    return spec(obj), annotations(obj).get(CREDENTIAL_FROM)
