"""The checks of an installation, each from objects to findings. Pure."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from asoreconcile.azure.catalogue.ignored_fields import paths_of_no_kind
from asoreconcile.azure.catalogue.kinds import Catalogue
from asoreconcile.azure.controllers.diagnosis.finding import (
    RESTART_OPERATOR,
    CheckSubject,
    Finding,
    some,
)
from asoreconcile.azure.controllers.diagnosis.object_parts import settings_in
from asoreconcile.azure.controllers.settings import SettingsError
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotation_table import (
    holds_writes,
    misspelt,
    reports,
)
from asoreconcile.azure.reconcile.model.annotations import FINALIZER
from asoreconcile.azure.reconcile.model.conditions import find_ready
from asoreconcile.azure.reconcile.model.existence import TAKES_OVER_ROW
from asoreconcile.azure.reconcile.model.instructions import DELETES_DECLARED_ROW
from asoreconcile.azure.reconcile.model.merge_rules import IGNORE_FIELDS_ROW
from asoreconcile.azure.reconcile.model.switches import is_on
from asoreconcile.base.objects import (
    JsonObject,
    finalizers,
    generation,
    gvk_of,
    is_deleting,
    key_of,
    metadata,
    status,
)

_OPERATOR = CheckSubject("operator")
_PODS = CheckSubject("pods")
_SETTINGS = CheckSubject("settings")
_LEADER = CheckSubject("leader")
_OBJECTS = CheckSubject("objects")

_DELETED_LONG = timedelta(hours=1)
_UNSEEN_LONG = timedelta(minutes=5)
_RESTARTS = 5


def of_deployment(
    deployment: JsonObject | None,
    name: str,
    *,
    elsewhere: Sequence[str] = (),
    is_outside: bool = False,
) -> Iterator[Finding]:
    """Check that the operator's Deployment has its replicas, and that they are
    ready.

    elsewhere: the other namespaces with such a Deployment. is_outside: objects show
    that an operator without a Deployment runs, as in a sandbox.
    """
    if deployment is None and is_outside:
        yield _OPERATOR.ok("it runs outside of the cluster, as in a sandbox")
        return
    if deployment is None:
        mend = "install it (deploy/README.md), or say where: --operator-namespace NAME"
        if elsewhere:
            mend = f"look at one: asoctl doctor --operator-namespace {elsewhere[0]}"
        shown = f"; there are some in {', '.join(elsewhere)}" if elsewhere else ""
        yield _OPERATOR.error(f"there is no Deployment {name}{shown}", mend)
        return
    namespace, _, deployed = name.partition("/")
    at = f"-n {namespace} deployment/{deployed}"
    wanted = (deployment.get("spec") or {}).get("replicas", 1)
    available = status(deployment).get("availableReplicas") or 0
    text = f"{available} of {wanted} replicas of {name} are available"
    if wanted == 0:
        yield _OPERATOR.error(text, f"scale it up: kubectl scale --replicas 2 {at}")
    elif available == 0:
        yield _OPERATOR.error(
            text, f"look at `kubectl describe {at}` and `kubectl logs {at}`"
        )
    elif available < wanted:
        yield _OPERATOR.warning(text, "look at the pods that are not available")
    else:
        yield _OPERATOR.ok(text)


def of_rivals(
    name: str, targets: Collection[str], others: Mapping[str, Collection[str]]
) -> Iterator[Finding]:
    """Check that no two operators reconcile the objects of one namespace.

    name: the Deployment of this operator, `namespace/name`. targets: namespaces that it
    works in; () for all. others: the namespaces of each other Deployment.
    """
    for other, theirs in others.items():
        shared = set(targets) & set(theirs) if targets and theirs else targets or theirs
        if shared or not (targets or theirs):
            where = f"namespace {', '.join(sorted(shared))}" if shared else "each one"
            namespace, _, deployed = other.partition("/")
            yield _OPERATOR.warning(
                f"{name} and {other} both reconcile the objects of {where}",
                "set AZURE_TARGET_NAMESPACES so that each namespace has one operator, "
                "or stop one: kubectl scale --replicas 0 "
                f"-n {namespace} deployment/{deployed}",
            )


def of_pods(pods: Sequence[JsonObject]) -> Iterator[Finding]:
    """Check for containers that crash repeatedly, and for different images."""
    images: Counter[str] = Counter()
    for pod in pods:
        for container in status(pod).get("containerStatuses") or ():
            images[str(container.get("image"))] += 1
            if (restarts := container.get("restartCount") or 0) > _RESTARTS:
                last = (container.get("lastState") or {}).get("terminated") or {}
                why = last.get("reason") or "an unknown reason"
                yield _PODS.warning(
                    f"{key_of(pod).name} restarted {restarts} times, last for {why}",
                    "look at `kubectl logs --previous`",
                )
    if len(images) > 1:
        yield _PODS.warning(
            f"replicas run different images: {', '.join(sorted(images))}",
            "wait for the rollout to end, or look why it does not",
        )


def of_settings(secret: JsonObject | None, name: str) -> Iterator[Finding]:
    """Check that the settings are usable; values are not shown."""
    if secret is None:
        space, _, secret_name = name.partition("/")
        yield _SETTINGS.error(
            f"there is no Secret {name}: the pods wait for it",
            f"kubectl create secret generic {secret_name} -n {space} "
            "--from-literal=AZURE_SUBSCRIPTION_ID=... (deploy/README.md has all keys)",
        )
        return
    try:
        settings = settings_in(secret)
    except SettingsError as wrong:
        for problem in wrong.problems:
            yield _SETTINGS.error(problem, f"mend Secret {name} and restart the pods")
        return
    yield _SETTINGS.ok(f"Secret {name} can be used")
    for notice in settings.notices:
        yield _SETTINGS.warning(notice, "mend the settings if you did not mean it")


def of_restart(
    secret: JsonObject, pods: Sequence[JsonObject], deployment: str
) -> Iterator[Finding]:
    """Check whether the settings changed after the pods, which read them at start,
    began.

    deployment: `namespace/name`.
    """
    times = [
        _instant(entry.get("time"))
        for entry in metadata(secret).get("managedFields") or ()
    ]
    changed = max(filter(None, times), default=None)
    began = [_instant(status(pod).get("startTime")) for pod in pods]
    if changed is not None and any(one is not None and one < changed for one in began):
        yield _SETTINGS.warning(
            f"Secret {key_of(secret)} changed after the pods had started",
            "restart them: settings are read at the start",
            fix=RESTART_OPERATOR,
            target=deployment,
        )


def of_lease(lease: JsonObject | None, name: str, now: datetime) -> Iterator[Finding]:
    """Check that a replica holds the lease, and has renewed it recently."""
    if lease is None:
        yield _LEADER.warning(
            f"there is no Lease {name}",
            "normal with one replica and without --enable-leader-election",
        )
        return
    spec = lease.get("spec") or {}
    holder = spec.get("holderIdentity")
    renewed = _instant(spec.get("renewTime"))
    seconds = spec.get("leaseDurationSeconds") or 15
    if not holder:
        yield _LEADER.error("no replica leads", "look at the log of the replicas")
    elif renewed is None or now - renewed > timedelta(seconds=2 * seconds):
        since = (
            "never" if renewed is None else f"{(now - renewed).total_seconds():.0f} s"
        )
        yield _LEADER.error(
            f"{holder} leads and has not renewed its lease for {since}",
            "its pod may be gone or cut off; look also at this machine's clock",
        )
    else:
        yield _LEADER.ok(f"{holder} leads")


def of_annotations(
    objects: Iterable[JsonObject],
    inherited: Mapping[str, Mapping[str, str]],
    catalogue: Catalogue,
) -> Iterator[Finding]:
    """Yield the objects with annotations that are wrong or have no effect: an error if
    a value keeps the operator from writing.

    inherited: annotations of the Namespaces, by name.
    """
    causes: dict[tuple[str, str], list[str]] = {}
    for obj in objects:
        of_namespace = inherited.get(key_of(obj).namespace, {})
        for name, why in reports(annotations(obj), of_namespace).items():
            causes.setdefault((name, why), []).append(_title(obj))
    for (name, why), titles in sorted(causes.items()):
        finding = _OBJECTS.error if holds_writes(name) else _OBJECTS.warning
        yield finding(f"{why}: {some(titles)}", "correct the annotation")
    for namespace in sorted(inherited):
        for why in misspelt(inherited[namespace]).values():
            yield _OBJECTS.warning(f"Namespace {namespace}: {why}", "correct its name")
        for row, what in _FOR_A_WHILE:
            if is_on(inherited[namespace], row):
                yield _OBJECTS.warning(
                    f"Namespace {namespace} has {row.name}: {what}",
                    "remove the annotation once its objects are Ready, or the deletion "
                    "is done",
                )
        text = IGNORE_FIELDS_ROW.text(inherited[namespace])
        if text is not None and not IGNORE_FIELDS_ROW.problem(text):
            for why in paths_of_no_kind(text, catalogue):
                where = f"annotation {IGNORE_FIELDS_ROW} of Namespace {namespace}"
                yield _OBJECTS.warning(f"{where}: {why}", "correct the path")


_FOR_A_WHILE = (
    (TAKES_OVER_ROW, "its objects take over what is there, whatever if-exists says"),
    (DELETES_DECLARED_ROW, "its deletions also delete what others declare"),
)


def of_secret_texts(
    found: Iterable[tuple[JsonObject, Sequence[str]]],
) -> Iterator[Finding]:
    """Yield a finding for objects whose specs contain the text of a secret. found: the
    objects, each with the paths of such texts.
    """
    for obj, paths in found:
        yield _OBJECTS.warning(
            f"{_title(obj)} holds a secret itself in "
            f"{', '.join(paths)}, as older releases took it",
            "put it into a Secret, and name the Secret's key in the field: the text is "
            "dropped then (`asoctl convert` does both to a manifest)",
        )


def of_objects(
    objects: Sequence[JsonObject], now: datetime, unread: Sequence[str] = ()
) -> Iterator[Finding]:
    """Yield findings about objects that are not Ready, by reason, that wait, or that
    are Ready with a warning.

    unread: the kinds whose objects could not be read.
    """
    reasons: defaultdict[tuple[str, str], list[JsonObject]] = defaultdict(list)
    unseen, stuck, held, pending = [], [], [], []
    for obj in objects:
        title = _title(obj)
        condition = find_ready(status(obj).get("conditions"))
        if _is_stuck(obj, now):
            if FINALIZER in finalizers(obj):
                stuck.append(title)
            else:
                held.append(f"{title} ({', '.join(finalizers(obj))})")
        elif condition is None:
            made = _instant(metadata(obj).get("creationTimestamp"))
            if made is not None and now - made > _UNSEEN_LONG:
                unseen.append(title)
            else:
                pending.append(f"{title} (new)")
        elif is_deleting(obj):
            pending.append(f"{title} (in deletion)")
        elif condition.get("status") != "True":
            severity = str(condition.get("severity") or "")
            reasons[severity, str(condition.get("reason"))].append(obj)
        elif condition.get("observedGeneration", generation(obj)) != generation(obj):
            pending.append(f"{title} (changed since it was Ready)")
        else:
            yield from _warnings(obj)
    for severity, reason in sorted(reasons):
        found = reasons[severity, reason]
        level = {"Error": _OBJECTS.error, "Warning": _OBJECTS.warning}.get(severity)
        text = f"{len(found)} not Ready, {reason}: {some([*map(_title, found)])}"
        if level is not None:
            yield level(text, f"`{_explain(found[0])}` says what to do")
        else:
            yield _OBJECTS.ok(text)
    if unseen:
        yield _OBJECTS.error(
            f"{len(unseen)} were never looked at: {some(unseen)}",
            "look whether an operator watches their namespaces and runs their kinds",
        )
    if stuck:
        yield _OBJECTS.error(
            f"{len(stuck)} are being deleted for more than an hour: {some(stuck)}",
            "`asoctl explain` says what holds them; with the annotation "
            "serviceoperator.azure.com/reconcile-policy: detach-on-delete they go and "
            "their resources stay",
        )
    if held:
        yield _OBJECTS.error(
            f"{len(held)} wait for a finalizer of another program: {some(held)}",
            "look which program set it; the operator has let go, and the resource is "
            "gone from Azure or detached",
        )
    if not (reasons or unseen or stuck or held):
        count = len(objects) - len(pending)
        text = f"all {count} are Ready" if objects else "there is no Azure object yet"
        if pending:
            text = f"{count} of {len(objects)} are Ready; not yet: {some(pending)}"
        if unread:
            text += f" (without {len(unread)} kinds, which cannot be listed)"
        yield _OBJECTS.ok(text)


def _warnings(obj: JsonObject) -> Iterator[Finding]:
    """Yield a text for each problem of a Ready object."""
    title = _title(obj)
    for one in status(obj).get("conditions") or ():
        if one.get("type") != "Ready" and one.get("severity") == "Warning":
            text = f"{title} is Ready, but {one.get('type')}: {one.get('message')}"
            yield _OBJECTS.warning(text, f"`{_explain(obj)}` shows it")


def _title(obj: JsonObject) -> str:
    return f"{obj.get('kind')} {key_of(obj)}"


def _explain(obj: JsonObject) -> str:
    """Return the command that explains an object."""
    kind, key = gvk_of(obj).group_kind, key_of(obj)
    return f"asoctl explain {kind}/{key.name} -n {key.namespace}"


def _is_stuck(obj: JsonObject, now: datetime) -> bool:
    since = _instant(metadata(obj).get("deletionTimestamp"))
    return (
        is_deleting(obj)
        and bool(finalizers(obj))
        and since is not None
        and now - since > _DELETED_LONG
    )


def _instant(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
