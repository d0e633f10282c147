"""Explains an object's state: its condition, what it waits for, and what to do.

For people (`asoctl explain`). It reads only the cluster, not Azure: the object holds
what the operator last got from Azure. Of a Secret it looks at the names of the keys
alone.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any, Protocol

import attrs

from asoreconcile.azure.catalogue.inputs import InputReference, inputs_of
from asoreconcile.azure.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.azure.catalogue.reserved import NAMESPACE_SECRET, STAND_IN_PREFIX
from asoreconcile.azure.reconcile.model.annotation_values import unreadable_policy
from asoreconcile.azure.reconcile.model.annotations import (
    CREDENTIAL_FROM,
    OWN_CREDENTIAL,
    POLLER_ID,
    POLLER_TOKEN,
    PUT_POLLER,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.conditions import find_ready
from asoreconcile.azure.reconcile.model.owner import owner_reference
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    annotations,
    generation,
    gvk_of,
    is_deleting,
    key_of,
    spec,
    status,
)

_SHOWN_EVENTS = 5
# Owners that name each other would never end.
_MOST_OWNERS = 20

ADVICE = {
    "AlreadyExists": "The resource was there before this object: set "
    "asoreconcile/if-exists to adopt or observe, or correct the name.",
    "AlreadyManaged": "Delete one of the two objects, or set the annotation "
    f"{RECONCILE_POLICY}: skip on the one that is only to read the resource.",
    "AzureResourceNotFound": "The policy is skip, so nothing creates the resource: "
    "make it in Azure, or change the policy to manage.",
    "ConfigMapNotFound": "Create the ConfigMap, or the key in it, in the object's own "
    "namespace. The object is looked at as soon as it is there.",
    "CredentialError": "Look at the Secret of the credential: its keys, whether the "
    "client secret has expired, and whether the identity is trusted.",
    "DeclaredByAnother": "Delete the object that the message names, or set the "
    f"annotation {RECONCILE_POLICY}: skip on it; or set detach-on-delete on this one, "
    "which leaves the resource in Azure.",
    "Deleting": "Azure deletes the resource. If it takes long, look at the operation "
    "and at locks on the resource or its group.",
    "DeletionNotSupportedInAzure": "Azure cannot delete this type alone: delete its "
    "owner, or set the policy to detach-on-delete.",
    "DeletionProtected": "Nothing is deleted while the protection holds: remove the "
    "annotation that the message names, or set the policy to detach-on-delete.",
    "Failed": "Azure or the operator refused: the message says what. Mend the spec; "
    "the object is tried again as soon as it changes.",
    "FailedWritingAdditionalKubernetesObjects": "The resource is in order; what it "
    "exports could not be written. Look at the names in spec.operatorSpec and at the "
    "operator's rights in the namespace.",
    "Invalid": "Mend the fields that the message names.",
    "NamespaceUnreadable": "Let the operator's role get, list and watch namespaces, "
    "and see whether the API server answers. The write is sent once it does.",
    "OutsideMaintenanceWindow": "The change is sent when the next maintenance window "
    "opens. To send it now, set asoreconcile/reconcile-at to a new value.",
    "Paused": "Nothing is done while the object or its Namespace has "
    "asoreconcile/paused: remove that annotation.",
    "PostReconciliationFailure": "The resource was written and is not usable yet: the "
    "message says what it lacks.",
    "Reconciling": "The operator is at it. If it takes long, look at the operation.",
    "ReconcilePolicyUnreadable": "Nothing is written or deleted in Azure until the "
    f"annotation {RECONCILE_POLICY}, of the object or its Namespace, is manage, "
    "detach-on-delete or skip.",
    "ReconciliationBlocked": "Nothing is sent until what the message names changes.",
    "RecordKeyUnreadable": "Let the operator's role get and create Secrets in its own "
    "namespace, and see whether the API server answers.",
    "ReferenceNotFound": "Create the object that is referred to, in the same "
    "namespace, or name the resource by armId.",
    "SecretNotFound": "Create the Secret, or the key in it, in the object's own "
    "namespace. The object is looked at as soon as it is there.",
    "SubscriptionMismatch": "The object is in one subscription and the credential in "
    "another: give the namespace or the object a credential of that subscription.",
    "Succeeded": "",
    "UnknownError": "This is a defect or trouble of the cluster: the operator's log "
    "has the whole of it.",
    "Unreadable": "The stored object cannot be read: the message names the field. "
    "Mend it with `kubectl apply`.",
    "WaitingForOwner": "Create the owner, or look at why it is not Ready.",
    "WaitingForReference": "Look at why the object that the message names is not in "
    "Azure yet.",
}
"""What to do, by the reason of a Ready condition; "" where nothing is to be done."""

_RETRIES = {
    "Error": "as soon as the object changes, else once in a sync period (an hour)",
    "Warning": "by itself within three minutes, and when what it waits for changes",
    "Info": "by itself",
}


class ClusterView(Protocol):
    """The reads of an explanation. All may raise the client's errors."""

    def get(self, group_kind: GroupKind, key: ObjectKey) -> JsonObject | None:
        """An Azure object, or None."""

    def namespaces_with(self, group_kind: GroupKind, name: str) -> Collection[str]:
        """The namespaces with Azure objects of a name, as far as the user may read."""

    def keys_of(self, kind: str, key: ObjectKey) -> Collection[str] | None:
        """The keys in a Secret or ConfigMap; None where there is none."""

    def events(self, obj: JsonObject) -> Sequence[JsonObject]:
        """Those about an object, the oldest first."""

    def namespace_annotations(self, namespace: str) -> JsonObject:
        """The annotations of a Namespace; empty if there is none."""


@attrs.frozen
class Link:
    """A dependency of the object. state: `Ready`, `missing`, or why it is not Ready."""

    role: str
    name: str
    state: str

    @property
    def is_in_order(self) -> bool:
        """Return whether it does not keep the object from being Ready."""
        return self.state in ("Ready", "there", "by its ARM id")


@attrs.frozen
class Explanation:
    """The explanation of one object, as texts; empty ones are left out."""

    title: str
    ready: str
    message: str
    azure: str
    policy: str
    operation: str
    credential: str
    owners: tuple[Link, ...]
    inputs: tuple[Link, ...]
    events: tuple[str, ...]
    next_try: str
    advice: str

    def to_json(self) -> JsonObject:
        """The explanation as `asoctl explain --output json` prints it."""
        made: JsonObject = attrs.asdict(self)
        return made

    def lines(self) -> Iterator[str]:
        """For a terminal, a line each."""
        yield self.title
        for name in ("ready", "azure", "policy", "operation", "credential"):
            if text := getattr(self, name):
                yield f"{name.capitalize() + ':':12}{text}"
                if name == "ready" and self.message:
                    yield f"{'':12}{self.message}"
        for name, links in (("Owners", self.owners), ("Inputs", self.inputs)):
            for link in links:
                yield f"{name + ':':12}{link.role} {link.name}: {link.state}"
        for event in self.events:
            yield f"{'Event:':12}{event}"
        if self.next_try:
            yield f"{'Next try:':12}{self.next_try}"
        if self.advice:
            yield f"{'To do:':12}{self.advice}"


def explain(
    obj: JsonObject, catalogue: Catalogue, cluster: ClusterView, *, now: datetime
) -> Explanation:
    """Blocking: reads the object's dependencies. Raises the client's errors, and
    NotInCatalogueError or UnknownVersionError for an object that is none of ours.
    """
    version = catalogue.version(gvk_of(obj))
    key = key_of(obj)
    condition = find_ready(status(obj).get("conditions")) or {}
    owners = tuple(_owners(version, obj, catalogue, cluster))
    inputs = tuple(
        _input(needed, key.namespace, cluster)
        for needed in inputs_of(version, spec(obj))
    )
    reason = str(condition.get("reason") or "")
    events = cluster.events(obj)
    is_ready = condition.get("status") == "True"
    return Explanation(
        title=f"{version.gvk.kind} {key} ({version.gvk.api_version})",
        ready=_ready(condition, obj, now),
        message=str(condition.get("message") or ""),
        azure=_azure(obj),
        policy=_policy(obj, cluster.namespace_annotations(key.namespace)),
        operation=_operation(obj, events, now),
        credential=_credential(obj, cluster),
        owners=owners,
        inputs=inputs,
        events=tuple(_event(one, now) for one in events[-_SHOWN_EVENTS:]),
        next_try="" if is_ready else _RETRIES.get(condition.get("severity") or "", ""),
        advice=_advice(reason, condition, (*owners, *inputs)),
    )


def _ready(condition: JsonObject, obj: JsonObject, now: datetime) -> str:
    if not condition:
        return (
            "no condition yet: no operator has looked at it. Look whether one runs "
            "that watches this namespace, and at its log"
        )
    severity = f", {condition['severity']}" if condition.get("severity") else ""
    since = _ago(str(condition.get("lastTransitionTime") or ""), now)
    text = f"{condition.get('status')}, {condition.get('reason')}{severity}{since}"
    seen = condition.get("observedGeneration")
    if seen is not None and seen != generation(obj):
        text += f"; of generation {seen}, the object is at {generation(obj)}"
    return text


def _azure(obj: JsonObject) -> str:
    arm_id = annotations(obj).get(RESOURCE_ID, "")
    return arm_id or "nothing was sent for it yet"


def _policy(obj: JsonObject, of_namespace: JsonObject) -> str:
    own = annotations(obj)
    if unreadable := unreadable_policy(own, of_namespace):
        return unreadable
    if own.get(RECONCILE_POLICY):
        return f"{own[RECONCILE_POLICY]} (of the object)"
    inherited = of_namespace.get(RECONCILE_POLICY)
    return f"{inherited} (of the namespace)" if inherited else ""


def _operation(obj: JsonObject, events: Sequence[JsonObject], now: datetime) -> str:
    found = annotations(obj)
    if not found.get(POLLER_TOKEN):
        return "a deletion is wanted" if is_deleting(obj) else ""
    verb = "create or update" if found.get(POLLER_ID) == PUT_POLLER else "delete"
    starts = [one for one in events if str(one.get("reason")).startswith("Begin")]
    since = _ago(_last_seen(starts[-1]), now) if starts else ""
    text = f"Azure was asked to {verb}{since}; the operation runs and is polled"
    later = events[events.index(starts[-1]) + 1 :] if starts else events
    if later:
        text += f"; last heard of{_ago(_last_seen(later[-1]), now)}: {_text(later[-1])}"
    return text


def _credential(obj: JsonObject, cluster: ClusterView) -> str:
    namespace = key_of(obj).namespace
    named = annotations(obj).get(CREDENTIAL_FROM)
    name = named or NAMESPACE_SECRET
    keys = cluster.keys_of("Secret", ObjectKey(namespace, name))
    if named:
        state = "" if keys is not None else ", which is missing"
        return f"Secret {namespace}/{named}, named by the object{state}"
    if keys is not None:
        return f"Secret {namespace}/{name}, of the namespace"
    if used := annotations(obj).get(OWN_CREDENTIAL):
        return (
            f"Secret {namespace}/{used}, which was used last and is missing: create "
            f"Secret {namespace}/{name}, or, if the namespace is being deleted, Secret "
            f"{STAND_IN_PREFIX}{namespace} in the operator's namespace"
        )
    return "the operator's settings"


def _owners(
    version: KindVersion, obj: JsonObject, catalogue: Catalogue, cluster: ClusterView
) -> Iterator[Link]:
    """From the nearest to the last."""
    namespace = key_of(obj).namespace
    for _ in range(_MOST_OWNERS):
        reference = owner_reference(version, obj)
        if not reference:
            return
        if reference.get("armId"):
            yield Link("owner", str(reference["armId"]), "by its ARM id")
            return
        kind = GroupKind(str(reference.get("group")), str(reference.get("kind")))
        key = ObjectKey(namespace, str(reference.get("name") or ""))
        found = cluster.get(kind, key)
        yield Link(kind.kind, str(key), _state(found, kind, key, cluster))
        if found is None:
            return
        version, obj = catalogue.version(gvk_of(found)), found


def _input(needed: InputReference, namespace: str, cluster: ClusterView) -> Link:
    name = str(needed.value.get("name") or "")
    key = ObjectKey(namespace, name)
    if needed.kind == "reference":
        kind = GroupKind(str(needed.value.get("group")), str(needed.value.get("kind")))
        title = f"{kind.kind} {key}"
        state = _state(cluster.get(kind, key), kind, key, cluster)
        return Link(needed.path, title, state)
    held = "ConfigMap" if needed.kind == "config-map" else "Secret"
    keys = cluster.keys_of(held, key)
    wanted = needed.value.get("key")
    if keys is None:
        state = "missing"
    elif wanted and wanted not in keys:
        there = ", ".join(sorted(keys)) or "none"
        state = f"it has no key {wanted} (its keys: {there})"
    else:
        state = "there"
    return Link(needed.path, f"{held} {key}", state)


def _state(
    obj: JsonObject | None, kind: GroupKind, key: ObjectKey, cluster: ClusterView
) -> str:
    if obj is None:
        elsewhere = sorted(cluster.namespaces_with(kind, key.name))
        if not elsewhere:
            return "missing"
        return (
            f"missing, and there is one in namespace {elsewhere[0]!r}, where nobody "
            "looks: names are of the object's own namespace (write armId in their "
            "place)"
        )
    condition = find_ready(status(obj).get("conditions")) or {}
    if condition.get("status") == "True":
        return "Ready"
    return f"not Ready: {condition.get('reason') or 'no condition yet'}"


def _advice(reason: str, condition: JsonObject, links: Sequence[Link]) -> str:
    if condition.get("status") == "True":
        return ""
    known = ADVICE.get(reason, "")
    if not known and condition.get("severity") == "Error":
        # Azure's own codes are reasons, too.
        known = ADVICE["Failed"]
    broken = [link for link in links if not link.is_in_order]
    names = "; ".join(f"{link.name} is {link.state}" for link in broken)
    return f"{known} {names}.".strip() if broken else known


def _event(event: JsonObject, now: datetime) -> str:
    series: Any = event.get("series") or {}
    count = series.get("count") or event.get("count") or 1
    times = f" ({count} times)" if count > 1 else ""
    ago = _ago(_last_seen(event), now)
    return f"{event.get('type')} {event.get('reason')}{ago}: {_text(event)}{times}"


def _text(event: JsonObject) -> str:
    return str(event.get("message") or event.get("note") or "")


def _last_seen(event: JsonObject) -> str:
    series: Any = event.get("series") or {}
    return str(
        series.get("lastObservedTime")
        or event.get("lastTimestamp")
        or event.get("eventTime")
        or ""
    )


def _ago(instant: str, now: datetime) -> str:
    try:
        seconds = (now - datetime.fromisoformat(instant)).total_seconds()
    except (ValueError, TypeError):
        return ""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f", {seconds // length:.0f} {unit} ago"
    return f", {max(seconds, 0):.0f} s ago"
