"""The checks of an installation, each from objects to findings. Pure."""

import base64
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from asoreconcile.azure.catalogue.conversion import STORED_SUFFIX
from asoreconcile.azure.catalogue.kinds import Catalogue
from asoreconcile.azure.catalogue.patterns import match
from asoreconcile.azure.catalogue.webhook_manifests import CONVERT_PATH, WebhookClient
from asoreconcile.azure.controllers.annotation_rules import (
    annotation_problems,
    misspelt_names,
)
from asoreconcile.azure.controllers.crd_labels import NAME_LABEL, VERSION_LABEL
from asoreconcile.azure.controllers.crd_plan import (
    OPERATORS_NAME,
    DesiredCrds,
    is_build,
    is_newer_build,
    plan,
)
from asoreconcile.azure.controllers.crd_watcher import late_kinds
from asoreconcile.azure.controllers.definitions import CrdState
from asoreconcile.azure.controllers.diagnosis.finding import (
    DROP_STORED_VERSIONS,
    RESTART_OPERATOR,
    Finding,
    error,
    ok,
    warning,
)
from asoreconcile.azure.controllers.discovery import Names
from asoreconcile.azure.controllers.settings import SettingsError, from_environment
from asoreconcile.azure.reconcile.model.annotation_values import unreadable_policy
from asoreconcile.azure.reconcile.model.annotations import FINALIZER
from asoreconcile.azure.reconcile.model.conditions import find_ready
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    annotations,
    dig,
    finalizers,
    generation,
    gvk_of,
    is_deleting,
    key_of,
    labels,
    metadata,
    status,
)

_SHOWN = 5
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
        yield ok("operator", "it runs outside of the cluster, as in a sandbox")
        return
    if deployment is None:
        mend = "install it (deploy/README.md), or say where: --operator-namespace NAME"
        if elsewhere:
            mend = f"look at one: asoctl doctor --operator-namespace {elsewhere[0]}"
        shown = f"; there are some in {', '.join(elsewhere)}" if elsewhere else ""
        yield error("operator", f"there is no Deployment {name}{shown}", mend)
        return
    namespace, _, deployed = name.partition("/")
    at = f"-n {namespace} deployment/{deployed}"
    wanted = (deployment.get("spec") or {}).get("replicas", 1)
    available = status(deployment).get("availableReplicas") or 0
    text = f"{available} of {wanted} replicas of {name} are available"
    if wanted == 0:
        yield error("operator", text, f"scale it up: kubectl scale --replicas 2 {at}")
    elif available == 0:
        yield error(
            "operator",
            text,
            f"look at `kubectl describe {at}` and `kubectl logs {at}`",
        )
    elif available < wanted:
        yield warning("operator", text, "look at the pods that are not available")
    else:
        yield ok("operator", text)


def of_pods(pods: Sequence[JsonObject]) -> Iterator[Finding]:
    """Check for containers that crash repeatedly, and for different images."""
    images: Counter[str] = Counter()
    for pod in pods:
        for container in status(pod).get("containerStatuses") or ():
            images[str(container.get("image"))] += 1
            if (restarts := container.get("restartCount") or 0) > _RESTARTS:
                last = (container.get("lastState") or {}).get("terminated") or {}
                why = last.get("reason") or "an unknown reason"
                yield warning(
                    "pods",
                    f"{key_of(pod).name} restarted {restarts} times, last for {why}",
                    "look at `kubectl logs --previous`",
                )
    if len(images) > 1:
        yield warning(
            "pods",
            f"replicas run different images: {', '.join(sorted(images))}",
            "wait for the rollout to end, or look why it does not",
        )


def of_settings(secret: JsonObject | None, name: str) -> Iterator[Finding]:
    """Check that the settings are usable; values are not shown."""
    if secret is None:
        yield error(
            "settings",
            f"there is no Secret {name}: the pods wait for it",
            "create it (deploy/README.md has the command)",
        )
        return
    values = {
        key: base64.b64decode(value).decode(errors="replace")
        for key, value in (secret.get("data") or {}).items()
    }
    namespace = key_of(secret).namespace
    try:
        settings = from_environment({"POD_NAMESPACE": namespace, **values})
    except SettingsError as wrong:
        for problem in wrong.problems:
            yield error("settings", problem, f"mend Secret {name} and restart the pods")
        return
    yield ok("settings", f"Secret {name} can be used")
    for notice in settings.notices:
        yield warning("settings", notice, "mend the settings if you did not mean it")


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
        yield warning(
            "settings",
            f"Secret {key_of(secret)} changed after the pods had started",
            "restart them: settings are read at the start",
            fix=RESTART_OPERATOR,
            target=deployment,
        )


def of_lease(lease: JsonObject | None, name: str, now: datetime) -> Iterator[Finding]:
    """Check that a replica holds the lease, and has renewed it recently."""
    if lease is None:
        yield warning(
            "leader",
            f"there is no Lease {name}",
            "normal with one replica and without --enable-leader-election",
        )
        return
    spec = lease.get("spec") or {}
    holder = spec.get("holderIdentity")
    renewed = _instant(spec.get("renewTime"))
    seconds = spec.get("leaseDurationSeconds") or 15
    if not holder:
        yield error("leader", "nobody leads", "look at the log of the replicas")
    elif renewed is None or now - renewed > timedelta(seconds=2 * seconds):
        since = (
            "never" if renewed is None else f"{(now - renewed).total_seconds():.0f} s"
        )
        yield error(
            "leader",
            f"{holder} leads and has not renewed its lease for {since}",
            "its pod may be gone or cut off; look also at this machine's clock",
        )
    else:
        yield ok("leader", f"{holder} leads")


def of_crds(
    crds: Sequence[JsonObject], catalogue: Catalogue, own: str, served: Names
) -> Iterator[Finding]:
    """Check that the kinds are served at known versions.

    own: this program and its version, as it marks CRDs (`asoreconcile-1.2.3`).
    served: the cluster's discovery.
    """
    ours = [crd for crd in crds if _kind(crd) in _kinds(catalogue)]
    if not ours:
        yield error(
            "kinds",
            "no CRD of an Azure kind is installed",
            "set --crd-pattern, or apply what `asoreconcile kinds crd` prints",
        )
        return
    troubles = [*_crd_troubles(ours, catalogue), *_not_running(ours, served)]
    troubles += _edited(ours, catalogue, own)
    yield from troubles
    if not troubles:
        yield ok("kinds", f"{len(ours)} kinds are installed")
    yield from _builds(ours, own)
    yield from _lacking(crds, catalogue)


def _edited(
    crds: Sequence[JsonObject], catalogue: Catalogue, own: str
) -> Iterator[Finding]:
    """Yield the CRDs of this build that are not as this build installs them."""
    for crd in crds:
        if labels(crd).get(VERSION_LABEL) != own:
            continue
        config = dig(crd, "spec.conversion.webhook.clientConfig") or {}
        service = config.get("service") or {}
        client = WebhookClient(
            url=str(config.get("url", "")).removesuffix(CONVERT_PATH),
            namespace=service.get("namespace", ""),
            name=service.get("name", ""),
            port=service.get("port", 443),
            ca_bundle=config.get("caBundle", ""),
        )
        wanted = DesiredCrds(own, conversion=client if config else None)
        if plan(catalogue.kind(_kind(crd)), crd, wanted).desired is not None:
            yield warning(
                "kinds",
                f"{key_of(crd).name} is not as this program installs it: it was edited",
                "a running operator repairs what --crd-pattern names; else apply what "
                "`asoreconcile kinds crd` prints",
            )


def _builds(crds: Sequence[JsonObject], own: str) -> Iterator[Finding]:
    """Yield which builds installed the CRDs. own: this program's mark."""
    builds = Counter(labels(crd).get(VERSION_LABEL, "") for crd in crds)
    for build in sorted(build for build in builds if build and not is_build(build)):
        text = f"{builds[build]} are of Azure Service Operator {build}"
        yield ok("kinds", f"{text}, and run as they are")
    for build in sorted(filter(is_build, builds)):
        if is_newer_build(build, own):
            yield warning(
                "kinds",
                f"{builds[build]} CRDs are of {build}, newer than this program ({own})",
                "look with that version, and run that operator",
            )
        elif is_newer_build(own, build):
            yield warning(
                "kinds",
                f"{builds[build]} CRDs are of {build}, older than this program ({own})",
                "upgrade the operator: it brings them up to date (--crd-pattern)",
            )


def _lacking(crds: Sequence[JsonObject], catalogue: Catalogue) -> Iterator[Finding]:
    """Yield the kinds of Azure Service Operator that this program does not know."""
    known = _kinds(catalogue)
    unknown_: dict[str, list[str]] = {}
    for crd in crds:
        release = labels(crd).get(VERSION_LABEL) or "of an unknown release"
        is_theirs = labels(crd).get(NAME_LABEL) == OPERATORS_NAME
        if is_theirs and not is_build(release) and _kind(crd) not in known:
            unknown_.setdefault(release, []).append(str(_kind(crd)))
    for release, kinds in sorted(unknown_.items()):
        yield warning(
            "kinds",
            f"Azure Service Operator {release} has kinds that this program lacks: "
            f"{', '.join(sorted(kinds))}",
            "their objects stay as they are and nobody reconciles them: keep Azure "
            "Service Operator for these kinds, or use a newer build of this program",
        )


def of_missing_kinds(
    deployment: JsonObject, crds: Sequence[JsonObject], catalogue: Catalogue
) -> Iterator[Finding]:
    """Check that the kinds of --crd-pattern are installed."""
    containers = dig(deployment, "spec.template.spec.containers") or ()
    words = [str(word) for one in containers for word in one.get("args") or ()]
    patterns = [w.partition("=")[2] for w in words if w.startswith("--crd-pattern=")]
    known = [*catalogue.kinds()]
    matched = match(patterns, known)
    for unmatched in matched.unmatched:
        yield error("kinds", f"--crd-pattern: {unmatched}", "mend the argument")
    there = {_kind(crd) for crd in crds}
    missing = [str(k) for k in matched.kinds if k.group_kind not in there]
    if missing:
        yield error(
            "kinds",
            f"{len(missing)} that --crd-pattern asks for are missing: {_some(missing)}",
            "look at the operator's log: it installs them at its start, and says what "
            "keeps it from that",
        )


def _not_running(crds: Sequence[JsonObject], served: Names) -> Iterator[Finding]:
    """Yield the kinds whose CRDs are in order, and that do not run for all that."""
    for crd in crds:
        name, kind = key_of(crd).name, _kind(crd)
        state = CrdState.of(crd, is_deleting=is_deleting(crd))
        if state.is_deleting:
            yield error(
                "kinds",
                f"{name} is being deleted, and all its objects with it",
                "wait until it is gone: the operator installs what --crd-pattern asks "
                "for again",
            )
        elif late_kinds(served, {kind: state}, [kind]):
            shown = ", ".join(served.get(kind, ())) or "no version"
            yield error(
                "kinds",
                f"{name} does not run as it should: the API server's discovery shows "
                f"{shown} of {', '.join(sorted(state.served)) or 'none'}",
                "wait a minute; else look at the log of the API server",
            )


def _crd_troubles(
    crds: Sequence[JsonObject], catalogue: Catalogue
) -> Iterator[Finding]:
    for crd in crds:
        name, spec = key_of(crd).name, crd.get("spec") or {}
        conditions = {
            c.get("type"): c.get("status") for c in status(crd).get("conditions") or ()
        }
        if conditions.get("Established") != "True":
            yield error(
                "kinds",
                f"{name} is not served",
                "`kubectl describe crd` says why; two CRDs may claim its names",
            )
        known = {*catalogue.kind(_kind(crd)).versions}
        known |= {version + STORED_SUFFIX for version in known}
        served = {v["name"] for v in spec.get("versions") or () if v.get("served")}
        if unknown_ := served - known:
            yield error(
                "kinds",
                f"{name} serves versions that this build does not know: "
                f"{', '.join(sorted(unknown_))}",
                "a newer operator wrote it: run that one, or a newer build of this",
            )
        stored = {*(status(crd).get("storedVersions") or ())}
        versions = spec.get("versions") or ()
        storage = next((v["name"] for v in versions if v.get("storage")), "")
        if left := stored - {v["name"] for v in spec.get("versions") or ()}:
            yield error(
                "kinds",
                f"{name} stores objects at {', '.join(sorted(left))}, which it lacks",
                "install a build that knows them, which rewrites the objects",
            )
        elif old := sorted(stored - {storage}):
            yield warning(
                "kinds",
                f"{name} lists {', '.join(old)}; objects are stored at {storage}",
                "a running operator cleans up within minutes; else `asoctl clean crds`",
                fix=DROP_STORED_VERSIONS,
                target=name,
            )


def of_policies(
    objects: Iterable[JsonObject], inherited: Mapping[str, Mapping[str, str]]
) -> Iterator[Finding]:
    """Yield the objects whose reconcile policy is unreadable. inherited: annotations of
    the Namespaces, by name.
    """
    causes: dict[str, list[str]] = {}
    for obj in objects:
        of_namespace = inherited.get(key_of(obj).namespace, {})
        if why := unreadable_policy(annotations(obj), of_namespace):
            causes.setdefault(why, []).append(f"{obj.get('kind')} {key_of(obj)}")
    for why, titles in sorted(causes.items()):
        yield error("objects", f"{why}: {_some(titles)}", "correct the annotation")


def of_objects(objects: Sequence[JsonObject], now: datetime) -> Iterator[Finding]:
    """Yield the objects that are not Ready, by reason, those that wait, and those that
    are Ready with a warning.
    """
    reasons: dict[tuple[str, str], list[str]] = {}
    commands: dict[tuple[str, str], str] = {}
    unseen, stuck, held, pending = [], [], [], []
    for obj in objects:
        title = f"{obj.get('kind')} {key_of(obj)}"
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
            reason = (
                str(condition.get("severity") or ""),
                str(condition.get("reason")),
            )
            reasons.setdefault(reason, []).append(title)
            commands.setdefault(reason, _explain(obj))
        elif condition.get("observedGeneration", generation(obj)) != generation(obj):
            pending.append(f"{title} (changed since it was Ready)")
        else:
            yield from _warnings(obj, title)
    for (severity, named), titles in sorted(reasons.items()):
        level = {"Error": error, "Warning": warning}.get(severity)
        text = f"{len(titles)} not Ready, {named}: {_some(titles)}"
        if level is not None:
            yield level(
                "objects", text, f"`{commands[severity, named]}` says what to do"
            )
        else:
            yield ok("objects", text)
    if unseen:
        yield error(
            "objects",
            f"{len(unseen)} were never looked at: {_some(unseen)}",
            "look whether an operator watches their namespaces and runs their kinds",
        )
    if stuck:
        yield error(
            "objects",
            f"{len(stuck)} are being deleted for more than an hour: {_some(stuck)}",
            "`asoctl explain` says what holds them; with the annotation "
            "serviceoperator.azure.com/reconcile-policy: detach-on-delete they go and "
            "their resources stay",
        )
    if held:
        yield error(
            "objects",
            f"{len(held)} wait for somebody else's finalizer: {_some(held)}",
            "look at who set it; the operator has let go, and Azure's resource is gone "
            "or detached",
        )
    if not (reasons or unseen or stuck or held):
        count = len(objects) - len(pending)
        text = f"all {count} are Ready"
        if pending:
            text = f"{count} of {len(objects)} are Ready; not yet: {_some(pending)}"
        yield ok("objects", text)


def _warnings(obj: JsonObject, title: str) -> Iterator[Finding]:
    """Yield what is wrong with an object that is Ready."""
    problems = [str(problem) for problem in annotation_problems(None, obj, None)]
    for text in (*problems, *misspelt_names(obj, None)):
        mend = "mend the annotation with kubectl annotate"
        yield warning("objects", f"{title} is Ready, but {text}", mend)
    for one in status(obj).get("conditions") or ():
        if one.get("type") != "Ready" and one.get("severity") == "Warning":
            text = f"{title} is Ready, but {one.get('type')}: {one.get('message')}"
            yield warning("objects", text, f"`{_explain(obj)}` shows it")


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


def _some(titles: Sequence[str]) -> str:
    shown = ", ".join(titles[:_SHOWN])
    return shown if len(titles) <= _SHOWN else f"{shown}, ..."


def _kinds(catalogue: Catalogue) -> frozenset[GroupKind]:
    return frozenset(kind.group_kind for kind in catalogue.kinds())


def _kind(crd: JsonObject) -> GroupKind:
    spec = crd.get("spec") or {}
    return GroupKind(str(spec.get("group")), str((spec.get("names") or {}).get("kind")))


def _instant(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
