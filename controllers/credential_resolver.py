"""Find the credential of an object, and cache a client for each credential.

    annotation credential-from -> Secret aso-credential -> the operator's settings

A client is cached for each Secret until the Secret's content changes. Only a hash of
the content is kept; values stay in the client. Rules: R8.1-R8.6.
"""

import base64
import hashlib
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Protocol

import attrs

from asoreconcile.azure.arm.credentials import CredentialError, CredentialSource
from asoreconcile.azure.arm.credentials_certificate import ClientCertificate
from asoreconcile.azure.arm.credentials_federated import (
    ManagedIdentity,
    WorkloadIdentity,
)
from asoreconcile.azure.arm.credentials_identity_file import IdentityFile
from asoreconcile.azure.arm.credentials_secret import (
    IDENTITY_FILE,
    SecretRules,
    credential_in,
    entra_app_in,
    secret_values,
)
from asoreconcile.azure.catalogue.reserved import (
    NAMESPACE_SECRET,
    STAND_IN_PREFIX,
    is_export,
)
from asoreconcile.azure.controllers.shared_reads import SharedReads
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import (
    CREDENTIAL_FROM,
    EXPORTS_AS_CREDENTIALS,
    OWN_CREDENTIAL,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.instructions import CREDENTIAL_FROM_ROW
from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    is_deleting,
    key_of,
    resource_version,
    uid_of,
    version_number,
)
from asoreconcile.base.single_flight import SingleFlight
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.informer import Informer
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import ForbiddenError, NotFoundError
from asoreconcile.kube.resources import SECRETS
from asoreconcile.redaction import register

if TYPE_CHECKING:
    from asoreconcile.azure.reconcile.scope.shared_dependencies import Connection


class Connect(Protocol):
    """Creates the clients of a credential (`controllers.arm_client_factory`)."""

    def __call__(
        self, source: CredentialSource, name: str, *, entra_app_id: str = ""
    ) -> "Connection": ...


@attrs.frozen
class _Kept:
    """The connection made from a version of a Secret.

    is_export: true if each use depends on an annotation of the Namespace.
    """

    uid: str
    resource_version: str
    digest: str
    connection: "Connection"
    is_export: bool

    def is_older_than(self, other: "_Kept") -> bool:
        """Return whether the other one was made from a newer version of the Secret."""
        if self.uid != other.uid:
            return False
        versions = self.resource_version, other.resource_version
        mine, others = map(version_number, versions)
        return 0 < mine < others


@attrs.define(eq=False, repr=False)
class CredentialResolver:
    """A `ConnectionResolver` for all scopes. Safe from any thread.

    connect: creates the client of a Secret's credential; sends nothing. settings:
    returns the widest scope, for objects without a narrower one; None if the settings
    name no subscription. seen: see `SharedReads`. namespace: the operator's own.
    widens: if true, an object whose Secret is gone uses the settings. tokens: returns
    the token that workload identity of a namespace's Secret uses (`workload_tokens`);
    None uses the operator's own token. may_use_export: returns whether an administrator
    lets an exported Secret be a credential of its namespace (`is_own_export`).
    """

    _client: KubeClient
    _headers: Informer
    _connect: Connect
    _rules: SecretRules
    _settings: "Callable[[], Connection | None]"
    _seen: Callable[[GroupKind], str]
    _clock: Clock
    _namespace: str = ""
    _widens: bool = False
    _tokens: Callable[[str], str] | None = None
    _may_use_export: Callable[[JsonObject], bool] = lambda _secret: False
    _lock: threading.Lock = attrs.field(init=False, factory=threading.Lock)
    _kept: dict[ObjectKey, _Kept] = attrs.field(init=False, factory=dict)
    _reads: "SharedReads[Connection | None]" = attrs.field(init=False)
    _being_made: "SingleFlight[tuple[ObjectKey, str], Connection]" = attrs.field(
        init=False, factory=SingleFlight
    )

    @_reads.default
    def _shared_reads(self) -> "SharedReads[Connection | None]":
        # Otherwise an object could be created in another subscription than its
        # Secret's.
        return SharedReads(self._read_now, self._seen, self._clock)

    def for_object(self, obj: JsonObject) -> "Connection":
        """Return the connection for an object.

        A Secret that an Azure object exports is not accepted, because the author of the
        export could choose the identity of other objects. Blocks for one read of the
        Secret if it changed or the object is new.
        Raises CredentialError if the Secret that the object names or has used does not
        exist, or if the Secret that applies is malformed. Rules: R8.1 - R8.5, R8.7.
        """
        key, own = credential_secret(obj), annotations(obj)
        named = CREDENTIAL_FROM_ROW.text(own) is not None
        # The settings are wider than a Secret of the namespace. They do not take the
        # place of such a Secret that the object has used.
        is_own = named or (OWN_CREDENTIAL in own and not self._widens)
        if RESOURCE_ID in own:
            connection = self._known(key, named=is_own)
        else:
            connection = self._reads.get(key, obj)
        if connection is not None:
            return connection
        if not is_own:
            if connection := self._settings():
                return connection
            raise _unset(key.namespace)
        if is_deleting(obj) and (stand_in := self._stand_in_for(key.namespace)):
            return stand_in
        raise self._gone(key, obj, named=named)

    def _stand_in_for(self, namespace: str) -> "Connection | None":
        try:
            return self._read_now(self._stand_in(namespace))
        except CredentialError as error:
            # The object's own Secret is gone, whatever is wrong with this one.
            raise CredentialError(str(error), is_gone=True) from error

    def _stand_in(self, namespace: str) -> ObjectKey:
        """Return the Secret for deletions in a Namespace that is being deleted, in
        which no Secret can be created any more.

        It is in the operator's namespace.
        """
        return ObjectKey(self._namespace, STAND_IN_PREFIX + namespace)

    def _gone(self, key: ObjectKey, obj: JsonObject, *, named: bool) -> CredentialError:
        origin = (
            f"annotation {CREDENTIAL_FROM} names"
            if named
            else "was used for the resource"
        )
        what = f"Secret {key.name!r}, which {origin}, does not exist in namespace "
        how = (
            f"{key.namespace}, or was exported by an Azure resource, and then it is a "
            f'credential only if the Namespace has {EXPORTS_AS_CREDENTIALS}: "true"'
        )
        text = f"{what}{how}: create it"
        if named:
            text += ", or correct the annotation"
        if is_deleting(obj):
            text += (
                ". If the namespace is being deleted, nothing can be created in it: "
                f"create Secret {self._stand_in(key.namespace)} with the same keys, or "
                f"annotate the object with {RECONCILE_POLICY}: detach-on-delete, which "
                "leaves the resource in Azure"
            )
        return CredentialError(text, is_gone=True)

    def forget(self, key: ObjectKey) -> None:
        """Drop the data of a Secret; the next use reads it again."""
        with self._lock:
            self._kept.pop(key, None)

    def digest(self, key: ObjectKey) -> str:
        """Return a hash of a Secret's present content; "" if it does not exist.
        Blocking.

        Later calls of `for_object` use this content, or a newer one.
        """
        self._reads.forget()
        secret = self._read(key)
        if secret is None or self._is_refused(secret):
            return ""
        return content_digest(secret.get("data") or {})

    def _known(self, key: ObjectKey, *, named: bool) -> "Connection | None":
        """Return the connection of the cached Secret; None if the Secret does not
        exist.

        If the Secret must exist (named), or existed before, only the API server's
        response counts, because the cache may be outdated.
        """
        if self._headers.has_synced():
            header, kept = self._headers.entry(key), self._kept.get(key)
            if header is None and kept is None and not named:
                return None
            if kept is not None and header is not None and _is_of(kept, header):
                return kept.connection
        return self._read_now(key)

    def _read_now(self, key: ObjectKey) -> "Connection | None":
        secret = self._read(key)
        if secret is None or self._is_refused(secret):
            self.forget(key)
            return None
        return self._made(key, secret)

    def _is_refused(self, secret: JsonObject) -> bool:
        """Return whether a Secret is an export that may not be used as a credential."""
        return is_export(secret) and not self._may_use_export(secret)

    def _made(self, key: ObjectKey, secret: JsonObject) -> "Connection":
        """Return the connection for a Secret's content; a new one only if the content
        has changed.
        """
        data = secret.get("data") or {}
        digest = content_digest(data)
        # The old one stays until there is a new one: meanwhile other callers must not
        # conclude that the Secret never existed.
        kept = self._kept.get(key)
        if kept is not None and kept.digest == digest:
            connection = kept.connection
        else:
            try:
                # Not under the lock, because a key may take seconds to open: only
                # objects of the same Secret wait.
                connection = self._being_made.do(
                    (key, digest), lambda: self._new(key, data, digest)
                )
            except CredentialError:
                self.forget(key)
                raise
        made = _Kept(
            uid_of(secret),
            resource_version(secret),
            digest,
            connection,
            is_export(secret),
        )
        with self._lock:
            now = self._kept.get(key)
            if now is None or not made.is_older_than(now):
                self._kept[key] = made
        return connection

    def _new(
        self, key: ObjectKey, data: Mapping[str, str], digest: str
    ) -> "Connection":
        # Another thread may have made it since this one looked.
        kept = self._kept.get(key)
        if kept is not None and kept.digest == digest:
            return kept.connection
        decoded = {name: base64.b64decode(value) for name, value in data.items()}
        for value in secret_values(decoded):
            register(value, namespace=key.namespace)
        try:
            source = credential_in(decoded, self._rules, origin=f"Secret {key}")
            if self._tokens is not None:
                source = self._strict(key.namespace, source)
            if isinstance(source, ClientCertificate):
                source = attrs.evolve(source, sharer=key.namespace)
            app = entra_app_in(decoded)
            made = self._connect(source, str(key), entra_app_id=app)
            return attrs.evolve(made, content=digest)
        except CredentialError as error:
            raise CredentialError(
                f"credential Secret {str(key)!r} cannot be used: {error}"
            ) from error

    def _strict(self, namespace: str, source: CredentialSource) -> CredentialSource:
        """Return a credential that uses no identity of the operator's pod or node.

        Raises CredentialError for one that would, unless it is in the operator's own
        namespace, whose Secrets only administrators write.
        """
        if isinstance(source, WorkloadIdentity) and self._tokens is not None:
            # Of the Secret's own namespace, which no key of the Secret can choose.
            token = partial(self._tokens, namespace)
            return attrs.evolve(source, federated=token)
        borrows = isinstance(source, ManagedIdentity | IdentityFile)
        if borrows and namespace != self._namespace:
            from asoreconcile.azure.controllers.workload_tokens import SERVICE_ACCOUNT

            which = "the identity of the operator's node (AUTH_MODE=podidentity)"
            key = "AUTH_MODE"
            if isinstance(source, IdentityFile):
                which, key = (
                    f"a file of the operator's pod ({IDENTITY_FILE})",
                    IDENTITY_FILE,
                )
            raise CredentialError(
                f"workload identity is strict, and the Secret signs in with {which}, "
                f"which every namespace could use: remove {key}, so that the identity "
                f"trusts the ServiceAccount {namespace}/{SERVICE_ACCOUNT} "
                f"(subject system:serviceaccount:{namespace}:{SERVICE_ACCOUNT}), or "
                "give AZURE_CLIENT_SECRET or AZURE_CLIENT_CERTIFICATE"
            )
        return source

    def _read(self, key: ObjectKey) -> JsonObject | None:
        try:
            return self._client.get(SECRETS, key)
        except NotFoundError:
            return None
        except ForbiddenError as error:
            raise CredentialError(
                f"the operator may not read Secret {str(key)!r}: grant its service "
                "account get, list and watch on secrets"
            ) from error


def credential_secret(obj: JsonObject) -> ObjectKey:
    """Return the Secret that an object's annotation names, else its namespace's. Pure.

    Raises CredentialError for an annotation that is not a Secret's name. Rule: R8.2.
    """
    namespace = key_of(obj).namespace
    name = CREDENTIAL_FROM_ROW.text(annotations(obj))
    if name is None:
        return ObjectKey(namespace, NAMESPACE_SECRET)
    if why := CREDENTIAL_FROM_ROW.problem(name):
        raise CredentialError(f"annotation {CREDENTIAL_FROM} {why}")
    return ObjectKey(namespace, name)


def content_digest(data: Mapping[str, str]) -> str:
    """Return a hash of keys and values, from which they cannot be recovered."""
    content = repr(sorted(data.items())).encode()
    return hashlib.sha256(content).hexdigest()


def _is_of(kept: _Kept, header: Entry) -> bool:
    known = (kept.uid, kept.resource_version)
    return not kept.is_export and known == (header.uid, header.resource_version)


def _unset(namespace: str) -> CredentialError:
    return CredentialError(
        f"global credential not configured: create Secret {NAMESPACE_SECRET} in "
        f"namespace {namespace}, name a Secret of it in annotation {CREDENTIAL_FROM}, "
        "or set AZURE_SUBSCRIPTION_ID in the operator's settings"
    )
