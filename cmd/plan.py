"""`asoctl plan`: show the changes that manifests would make in Azure."""

import sys
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

import attrs
import click

from asoreconcile.azure.catalogue.kinds import NotInCatalogueError, UnknownVersionError
from asoreconcile.azure.catalogue.manifests import (
    Manifest,
    ManifestError,
    read_manifests,
)
from asoreconcile.azure.catalogue.resolution import Resolution, ResolutionError
from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.cmd import sharedoptions
from asoreconcile.azure.cmd.azure_login import signed_in
from asoreconcile.azure.cmd.broken_pipe import usage_errors
from asoreconcile.azure.cmd.cluster_reads import azure_objects, secret_in_cluster
from asoreconcile.azure.cmd.import_progress import LONG_SECONDS
from asoreconcile.azure.cmd.sharedoptions import ClusterChoice, ObjectChoice, answers_in
from asoreconcile.azure.cmd.terminal import say, say_json
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.external_rendering import outside_plans
from asoreconcile.azure.extensions.registry import builtin_sets
from asoreconcile.azure.middleware.chain import Extensions
from asoreconcile.azure.reconcile.planning.change_plan import Planner
from asoreconcile.azure.reconcile.planning.dry_run import ManifestObjects, ReadOnlyArm
from asoreconcile.azure.reconcile.planning.patient_reads import PatientReads
from asoreconcile.azure.reconcile.planning.planned_change import (
    FieldChange,
    PlannedChange,
)
from asoreconcile.azure.sql_users.lookups import UserLookups
from asoreconcile.azure.sql_users.planning import FindLookups
from asoreconcile.base import jsontext
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    gvk_of,
    key_of,
    metadata,
    status,
)


def plan_lookups(
    objects: Iterable[JsonObject],
    resolution: Resolution,
    reads: PatientReads,
    token: Callable[[str], str],
    *,
    choice: ClusterChoice | None,
) -> FindLookups:
    """Return the lookups for the objects of a call.

    reads: reads the status from Azure if a manifest lacks it, or a cluster is given.
    choice: the cluster to read Secrets from that are not among the objects; None reads
    no cluster.
    """
    view = ManifestObjects(builtin(), objects)

    def status_in_azure(obj: JsonObject) -> JsonObject:
        # A password of the cluster goes to an address that Azure states, and to none of
        # a manifest, which may be a stranger's.
        if choice is None and (stated := status(obj)):
            return stated
        version = builtin().version(gvk_of(obj))
        arm_id = resolution.arm_id_of(version, obj)
        return status_of(version, reads.get(arm_id, version.api_version))

    def secret(reference: JsonObject, namespace: str) -> str:
        try:
            return resolution.secret(reference, namespace)
        except ResolutionError:
            if choice is None:
                raise
        key = ObjectKey(namespace, str(reference.get("name") or ""))
        there = Resolution(builtin(), [secret_in_cluster(key, choice)])
        return there.secret(reference, namespace)

    def lookups(obj: JsonObject) -> UserLookups:
        return UserLookups(
            catalogue=builtin(),
            obj=obj,
            owner=lambda: view.owner_of(obj),
            find=view.get,
            status=status_in_azure,
            secret=lambda reference: secret(reference, key_of(obj).namespace),
            token=lambda audience: (token(audience), "asoctl"),
        )

    return lookups


_CHANGES, _ERRORS = 2, 1
_MAX_TEXT = 100


@click.command()
@sharedoptions.manifest_files(required=False)
@click.option(
    "--cluster",
    is_flag=True,
    help="Plan for the objects of the cluster that KUBECONFIG names.",
)
@sharedoptions.resolve_file
@sharedoptions.subscription
@sharedoptions.object_choice
@sharedoptions.cluster_choice
@sharedoptions.table_output
@sharedoptions.watchable
def plan(
    *,
    paths: Sequence[str],
    cluster: bool,
    resolve: Path | None,
    subscription: str,
    output: str,
    wanted: ObjectChoice,
    choice: ClusterChoice,
) -> None:
    """Show what the operator would change in Azure for each manifest.

    Reads each resource in Azure, and what its extensions need; writes nothing. Shows
    each changed field with the rule that found it; json has the whole bodies, too. What
    Azure never shows, such as passwords, is not compared; the output says so. Values of
    Secrets are neither read nor compared, with one exception: for a user of a database,
    plan signs in to the server with the administrator's password and shows statements.
    Signs in to Azure as `asoctl import azure-resource` does, not with the operator's
    credentials.

    \b
    Example:
      asoctl plan -f shop.yaml --subscription 00000000-0000-0000-0000-000000000000

    Exit code 0 when nothing would change, 2 when something would, 1 when it
    cannot be told for some resource.
    """  # noqa: D301 -- click wants the character
    if bool(paths) == cluster:
        raise click.UsageError("use either --filename or --cluster")
    with usage_errors(NotInCatalogueError, UnknownVersionError, ManifestError):
        objects, only = (
            _of_cluster(choice, wanted) if cluster else (_given(paths), None)
        )
        groups = builtin().groups()
        if only == set() or not any(gvk_of(obj).group in groups for obj in objects):
            none = "there is no Azure resource among these"
            raise click.ClickException(wanted.nothing() if cluster else none)
        resolution = Resolution(
            builtin(),
            objects,
            answers=answers_in(resolve),
            subscription_id=subscription,
        )
        changes = _changes(
            objects, resolution, subscription, only, choice=choice if cluster else None
        )
    _print(changes, output)
    actions = {change.action for change in changes}
    if "cannot tell" in actions:
        sys.exit(_ERRORS)
    sys.exit(0 if actions == {"no change"} else _CHANGES)


def _changes(
    objects: Sequence[JsonObject],
    resolution: Resolution,
    subscription: str,
    only: Collection[tuple[GroupKind, ObjectKey]] | None,
    *,
    choice: ClusterChoice | None,
) -> list[PlannedChange]:
    clock = SystemClock()
    extensions = Extensions.of_catalogue(builtin_sets(), builtin())
    with signed_in() as connection:
        reads = ReadOnlyArm(
            connection.client, clock=clock, stop=threading.Event(), on_wait=_say_wait
        )
        lookups = plan_lookups(
            objects, resolution, reads, connection.client.token, choice=choice
        )
        with outside_plans(connection.graph, lookups, clock) as outside:
            planner = Planner(
                catalogue=builtin(),
                objects=tuple(objects),
                resolution=resolution,
                reads=reads,
                extensions=extensions,
                clock=clock,
                subscription_id=subscription,
                outside=outside,
                only=only,
            )
            return [*planner.changes()]


def _say_wait(seconds: float, why: str) -> None:
    if seconds >= LONG_SECONDS:
        say(f"waiting {seconds:.0f} s: {why}", err=True)


def _of_cluster(
    choice: ClusterChoice, wanted: ObjectChoice
) -> tuple[list[JsonObject], Collection[tuple[GroupKind, ObjectKey]] | None]:
    """Return all objects of the namespaces, because others refer to them, and the
    chosen ones; None if all are chosen.
    """
    objects = azure_objects(choice, attrs.evolve(wanted, labels=""))
    if not wanted.labels:
        return objects, None
    labelled = azure_objects(choice, wanted)
    return objects, {(gvk_of(obj).group_kind, key_of(obj)) for obj in labelled}


def _given(paths: Sequence[str]) -> list[JsonObject]:
    """Return the objects as kubectl would apply them: by default to the namespace
    `default`.
    """
    return [
        manifest.obj if manifest.obj.get("kind") == "Namespace" else _placed(manifest)
        for manifest in read_manifests(paths)
    ]


def _placed(manifest: Manifest) -> JsonObject:
    meta = metadata(manifest.obj)
    placed = {**meta, "namespace": meta.get("namespace") or "default"}
    return {**manifest.obj, "metadata": placed}


def _print(changes: Sequence[PlannedChange], output: str) -> None:
    if output == "json":
        for change in changes:
            say_json(change.to_json())
        return
    for change in changes:
        title = f"{change.kind.kind} {change.namespace}/{change.name}"
        say(f"{change.action:14}  {title}  {change.arm_id}".rstrip())
        lines = [change.why] if change.why else []
        lines += [one for one in change.remarks if one != change.why]
        lines += [*map(_shown, change.changes), *change.statements]
        lines += [
            f"{about}: {', '.join(paths)}"
            for about, paths in (
                ("left as Azure has it", change.kept),
                ("others wrote what is replaced at", change.replaced),
                ("not compared, as Azure never shows it", change.write_only),
            )
            if paths
        ]
        for line in lines:
            say(f"{'':18}{line}")
    say(_summary(changes))


def _shown(field: FieldChange) -> str:
    sides = [
        f"{name} {_text(value)}"
        for name, value in (("want", field.want), ("have", field.have))
        if value is not None
    ]
    return f"{field.path}: {field.rule} ({', '.join(sides)})"


def _text(value: object) -> str:
    text = jsontext.dumps(value).decode()
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}..."


def _summary(changes: Sequence[PlannedChange]) -> str:
    counts = {
        action: sum(change.action == action for change in changes)
        for action in ("create", "update", "replace needed", "no change", "cannot tell")
    }
    return "Plan: " + ", ".join(f"{n} {action}" for action, n in counts.items() if n)
