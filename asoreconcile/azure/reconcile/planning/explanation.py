"""Explains an object's state: its condition, the objects it waits for, and advice.

Used by `asoctl explain`. It reads only the cluster, not Azure: the status holds the
values that the operator last read from Azure. Of a Secret only the names of the keys
are used.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import attrs

from asoreconcile.azure.catalogue.ignored_fields import (
    IgnoredFieldError,
    listed_paths,
)
from asoreconcile.azure.catalogue.inputs import InputReference, inputs_of
from asoreconcile.azure.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.azure.catalogue.reserved import NAMESPACE_SECRET, STAND_IN_PREFIX
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotation_row import Stated, shown
from asoreconcile.azure.reconcile.model.annotation_table import (
    in_force,
    report_on,
    reports,
)
from asoreconcile.azure.reconcile.model.annotations import (
    CREDENTIAL_FROM,
    FINALIZER,
    OWN_CREDENTIAL,
    POLLER_ID,
    POLLER_TOKEN,
    PUT_POLLER,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.conditions import READY, is_ready, ready_of
from asoreconcile.azure.reconcile.model.instructions import CREDENTIAL_FROM_ROW
from asoreconcile.azure.reconcile.model.merge_rules import IGNORE_FIELDS_ROW
from asoreconcile.azure.reconcile.model.owner import owner_reference
from asoreconcile.azure.reconcile.model.policy import RECONCILE_POLICY_ROW
from asoreconcile.azure.reconcile.model.standing import stated_standing
from asoreconcile.azure.reconcile.planning.advice import (
    BESIDE_READY,
    UNSEEN,
    advice_on,
    cause_of,
    unseen,
)
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    finalizers,
    generation,
    gvk_of,
    is_deleting,
    key_of,
    spec,
    status,
)
from asoreconcile.kube.errors import ForbiddenError

_REPEATED = 80  # characters by which a message is known again
_SHOWN_EVENTS = 5
# Owners that name each other would never end.
_MOST_OWNERS = 20

_ASKED = re.compile(r"Azure asked to wait (\d+) s")
_REFUSED = "you may not read it"
_RETRIES = {
    "Error": "as soon as the object changes, else once in a sync period (an hour)",
    "Warning": "by itself within three minutes, and when what it waits for changes",
    "Info": "by itself",
}


class ClusterView(Protocol):
    """The reads of an explanation. All may raise the client's errors; after a
    ForbiddenError the explanation says what the user may not read.
    """

    def get(self, group_kind: GroupKind, key: ObjectKey) -> JsonObject | None:
        """Return an Azure object, or None."""

    def namespaces_with(self, group_kind: GroupKind, name: str) -> Collection[str]:
        """Return the namespaces that contain an Azure object of this name, if the user
        may read them.
        """

    def keys_of(self, kind: str, key: ObjectKey) -> Collection[str] | None:
        """Return the keys in a Secret or ConfigMap, or None if it does not exist."""

    def events(self, obj: JsonObject) -> Sequence[JsonObject]:
        """Return the events about an object, the oldest first."""

    def namespace_annotations(self, namespace: str) -> JsonObject:
        """Return the annotations of a Namespace; {} if it does not exist."""


@attrs.frozen
class Link:
    """A dependency of the object. state: `Ready`, `missing`, or why it is not Ready.

    problem: the state as a whole sentence, if it keeps the object from being Ready;
    else "".
    """

    role: str
    name: str
    state: str
    problem: str = ""


@attrs.frozen
class Explanation:
    """The explanation of one object, as texts; empty ones are left out."""

    title: str
    kind: str
    namespace: str
    name: str
    reason: str
    severity: str
    cause: str
    ready: str
    message: str
    azure: str
    standing: str
    policy: str
    ignored: str
    operation: str
    credential: str
    owners: tuple[Link, ...]
    inputs: tuple[Link, ...]
    events: tuple[str, ...]
    next_try: str
    advice: str
    warnings: tuple[str, ...]
    annotations: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """Return the lines to print on a terminal."""
        yield self.title
        if self.cause:
            yield f"{'Cause:':12}{self.cause}"
        if self.advice:
            yield f"{'To do:':12}{self.advice}"
        if self.next_try not in self.advice:
            yield f"{'Next try:':12}{self.next_try}"
        for warning in self.warnings:
            yield f"{'Warning:':12}{warning}"
        for name in (
            "ready",
            "azure",
            "standing",
            "policy",
            "ignored",
            "operation",
            "credential",
        ):
            if text := getattr(self, name):
                yield f"{name.capitalize() + ':':12}{text}"
                if name == "ready" and self.message:
                    yield f"{'':12}{self.message}"
        for name, links in (("Owners", self.owners), ("Inputs", self.inputs)):
            for link in links:
                yield f"{name + ':':12}{link.role} {link.name}: {link.state}"
        for one in self.annotations:
            yield f"{'Annotation:':12}{one}"
        for event in self.events:
            yield f"{'Event:':12}{self._shortened(event)}"

    def _shortened(self, event: str) -> str:
        """Return an event's text, in which a long message that Ready repeats is
        shortened.
        """
        head = self.message[:_REPEATED]
        if len(head) < _REPEATED or head not in event:
            return event
        before, _, rest = event.partition(head)
        correlation = rest[rest.rfind(" (") :] if rest.endswith(")") else ""
        return f"{before}{head}...{correlation}"


def explain(
    obj: JsonObject,
    catalogue: Catalogue,
    cluster: ClusterView,
    *,
    now: datetime,
) -> Explanation:
    """Return the explanation of an object.

    Blocking: reads the object's dependencies. Raises the client's errors, and
    NotInCatalogueError or UnknownVersionError for an object that is not an Azure
    object.
    """
    version = catalogue.version(gvk_of(obj))
    key = key_of(obj)
    condition = ready_of(obj)
    owners = tuple(_owners(version, obj, catalogue, cluster))
    inputs = tuple(
        _input(needed, key.namespace, cluster)
        for needed in inputs_of(version, spec(obj))
    )
    reason, severity, message = (
        str(condition.get(name) or "") for name in ("reason", "severity", "message")
    )
    events: Sequence[JsonObject] = ()
    with suppress(ForbiddenError):
        events = cluster.events(obj)
    inherited: JsonObject = {}
    with suppress(ForbiddenError):
        inherited = cluster.namespace_annotations(key.namespace)
    state = unseen(obj)
    is_done = is_ready(obj) and not state
    asked = "" if is_done or state else _asked_by_azure(events, now)
    cause, advice = UNSEEN.get(state, (cause_of(reason, deleting=is_deleting(obj)), ""))
    if holders := _holders(obj):
        cause = f"The operator has let the object go; others hold it: {holders}."
        advice = "Find the program that set each finalizer: that program removes it."
    elif not is_done and not state:
        advice = advice_on(
            reason, severity, message, deleting=is_deleting(obj), next_try=asked
        )
        problems = [one.problem for one in (*owners, *inputs) if one.problem]
        advice = " ".join((advice, *problems)).strip()
    return Explanation(
        title=f"{version.gvk.kind} {key} ({version.gvk.api_version})",
        kind=str(version.group_kind),
        namespace=key.namespace,
        name=key.name,
        reason=reason,
        severity=severity,
        cause=cause,
        ready=_ready(condition, obj, now),
        message=message,
        azure=_azure(obj),
        standing=stated_standing(obj) if version.is_arm else "",
        policy=_policy(obj, inherited),
        ignored=_ignored(obj, inherited),
        operation=_operation(obj, events, now),
        credential=_credential(obj, cluster),
        owners=owners,
        inputs=inputs,
        events=tuple(_event(one, now) for one in events[-_SHOWN_EVENTS:]),
        next_try=asked or ("" if is_done or state else _RETRIES.get(severity, "")),
        advice=advice,
        warnings=(*_beside_ready(obj), *_wrong_annotations(version, obj, inherited)),
        annotations=tuple(_annotations(obj, inherited)),
    )


def _holders(obj: JsonObject) -> str:
    """Return the finalizers that keep a deleted object in the cluster after the
    operator has released it; else "".
    """
    held = finalizers(obj)
    return ", ".join(held) if is_deleting(obj) and FINALIZER not in held else ""


def _beside_ready(obj: JsonObject) -> Iterator[str]:
    """Yield the conditions of problems other than Ready, each with advice."""
    for one in status(obj).get("conditions") or ():
        if one.get("type") != READY and one.get("severity") == "Warning":
            todo = BESIDE_READY.get(str(one.get("type")), "")
            yield f"{one.get('type')}: {one.get('message')}. {todo}".rstrip()


def _ready(condition: JsonObject, obj: JsonObject, now: datetime) -> str:
    if not condition:
        return "no condition yet"
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
    if unreadable := report_on(RECONCILE_POLICY_ROW, own, of_namespace):
        return unreadable
    return "; ".join(map(_stated, RECONCILE_POLICY_ROW.stated(own, of_namespace)))


def _stated(one: Stated) -> str:
    return f"{one.text} (of the {'namespace' if one.on_namespace else 'object'})"


def _annotations(obj: JsonObject, of_namespace: JsonObject) -> Iterator[str]:
    """Yield the annotations that count for the object, except those that the
    explanation shows otherwise.
    """
    for row, one in in_force(annotations(obj), of_namespace):
        if row not in (RECONCILE_POLICY_ROW, IGNORE_FIELDS_ROW, CREDENTIAL_FROM_ROW):
            text = attrs.evolve(one, text=shown(one.text) or '""')
            yield f"{row.name}: {_stated(text)}"


def _wrong_annotations(
    version: KindVersion, obj: JsonObject, of_namespace: JsonObject
) -> Iterator[str]:
    """Yield a sentence for each annotation that is wrong or has no effect; the policy's
    is shown in its own line.
    """
    found = reports(annotations(obj), of_namespace, version)
    yield from (why for name, why in found.items() if name != RECONCILE_POLICY)


def _ignored(obj: JsonObject, of_namespace: JsonObject) -> str:
    """Return the ignored fields, which only the first PUT sets."""
    stated = IGNORE_FIELDS_ROW.stated(annotations(obj), of_namespace)
    paths: list[str] = []
    for one in stated:
        with suppress(IgnoredFieldError):  # `_wrong_annotations` says so
            paths += listed_paths(one.text)
    return ", ".join(dict.fromkeys(paths))


def _operation(obj: JsonObject, events: Sequence[JsonObject], now: datetime) -> str:
    found = annotations(obj)
    if not found.get(POLLER_TOKEN):
        return "a deletion is wanted" if is_deleting(obj) else ""
    verb = "create or update" if found.get(POLLER_ID) == PUT_POLLER else "delete"
    starts = [one for one in events if str(one.get("reason")).startswith("Begin")]
    since = _ago(last_seen(starts[-1]), now) if starts else ""
    text = f"Azure was asked to {verb}{since}; the operation runs and is polled"
    later = events[events.index(starts[-1]) + 1 :] if starts else events
    if later:
        text += (
            f"; last heard of{_ago(last_seen(later[-1]), now)}: {event_text(later[-1])}"
        )
    return text


def _credential(obj: JsonObject, cluster: ClusterView) -> str:
    namespace = key_of(obj).namespace
    named = annotations(obj).get(CREDENTIAL_FROM)
    name = named or NAMESPACE_SECRET
    try:
        keys = cluster.keys_of("Secret", ObjectKey(namespace, name))
    except ForbiddenError:
        whose = "named by the object" if named else "if there is one"
        return f"Secret {namespace}/{name}, {whose}: {_REFUSED}"
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
    """Yield a link to each owner, from the nearest to the farthest."""
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
        try:
            found = cluster.get(kind, key)
        except ForbiddenError:
            yield Link(kind.kind, str(key), _REFUSED)
            return
        yield Link(kind.kind, str(key), *_standing(found, kind, key, cluster))
        if found is None:
            return
        version, obj = catalogue.version(gvk_of(found)), found


def _input(needed: InputReference, namespace: str, cluster: ClusterView) -> Link:
    try:
        return _read_input(needed, namespace, cluster)
    except ForbiddenError:
        name = str(needed.value.get("name") or "")
        return Link(needed.path, f"{ObjectKey(namespace, name)}", _REFUSED)


def _read_input(needed: InputReference, namespace: str, cluster: ClusterView) -> Link:
    name = str(needed.value.get("name") or "")
    key = ObjectKey(namespace, name)
    if needed.kind == "reference":
        kind = GroupKind(str(needed.value.get("group")), str(needed.value.get("kind")))
        found = cluster.get(kind, key)
        title = f"{kind.kind} {key}"
        return Link(needed.path, title, *_standing(found, kind, key, cluster))
    held = "ConfigMap" if needed.kind == "config-map" else "Secret"
    keys, title = cluster.keys_of(held, key), f"{held} {key}"
    wanted = needed.value.get("key")
    if keys is None:
        return Link(needed.path, title, "missing", f"{title} is missing.")
    if wanted and wanted not in keys:
        there = ", ".join(sorted(keys)) or "none"
        lacks = f"no key {wanted} (its keys: {there})"
        return Link(needed.path, title, f"it has {lacks}", f"{title} has {lacks}.")
    return Link(needed.path, title, "there")


def _standing(
    obj: JsonObject | None, kind: GroupKind, key: ObjectKey, cluster: ClusterView
) -> tuple[str, str]:
    """Return state and problem of a link to an object (`Link`)."""
    if obj is None:
        state = "missing"
        if elsewhere := sorted(cluster.namespaces_with(kind, key.name)):
            state += (
                f", and there is one in namespace {elsewhere[0]!r}, which does "
                "not count: names are of the object's own namespace (write armId "
                "in their place)"
            )
    elif is_ready(obj):
        return "Ready", ""
    else:
        condition = ready_of(obj)
        state = f"not Ready: {condition.get('reason') or 'no condition yet'}"
    return state, f"{kind.kind} {key} is {state}."


def _asked_by_azure(events: Sequence[JsonObject], now: datetime) -> str:
    """Return the time of the next try that Azure asked for; "" if Azure asked for none,
    or if the time has passed.
    """
    for event in reversed(events):
        if asked := _ASKED.search(event_text(event)):
            try:
                seen = datetime.fromisoformat(last_seen(event))
            except ValueError:
                return ""
            again = seen + timedelta(seconds=int(asked[1]))
            if again <= now:
                return ""
            at = again.astimezone(UTC).strftime("%H:%M:%S")
            return f"at {at} UTC, because Azure asked for {asked[1]} s"
    return ""


def _event(event: JsonObject, now: datetime) -> str:
    count = times_seen(event)
    times = f" ({count} times)" if count > 1 else ""
    ago = _ago(last_seen(event), now)
    return f"{event.get('type')} {event.get('reason')}{ago}: {event_text(event)}{times}"


def times_seen(event: JsonObject) -> int:
    """Return how often an event was seen."""
    series: Any = event.get("series") or {}
    return series.get("count") or event.get("count") or 1


def event_text(event: JsonObject) -> str:
    """Return the message of an event of either event API."""
    return str(event.get("message") or event.get("note") or "")


def last_seen(event: JsonObject) -> str:
    """Return the time at which an event was last seen; "" if it is not known."""
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
