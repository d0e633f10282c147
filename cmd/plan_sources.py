"""Where `asoctl plan` finds what users of databases name: server, administrator."""

from collections.abc import Callable, Iterable

from asoreconcile.azure.catalogue.resolution import Resolution, ResolutionError
from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.cmd.cluster_objects import secret_in_cluster
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.reconcile.planning.dry_run import ManifestObjects
from asoreconcile.azure.reconcile.planning.patient_reads import PatientReads
from asoreconcile.azure.sql_users.planning import PlanSources
from asoreconcile.base.objects import JsonObject, ObjectKey, gvk_of, status


def plan_sources(
    objects: Iterable[JsonObject],
    resolution: Resolution,
    reads: PatientReads,
    token: Callable[[str], str],
    *,
    in_cluster: bool,
) -> PlanSources:
    """Over the objects of a call. reads: asks Azure for the status that a manifest
    lacks. in_cluster: Secrets that are not among the objects are read there.
    """
    view = ManifestObjects(builtin(), objects)

    def status_in_azure(obj: JsonObject) -> JsonObject:
        if stated := status(obj):
            return stated
        version = builtin().version(gvk_of(obj))
        arm_id = resolution.arm_id_of(version, obj)
        return status_of(version, reads.get(arm_id, version.api_version))

    def secret(reference: JsonObject, namespace: str) -> str:
        try:
            return resolution.secret(reference, namespace)
        except ResolutionError:
            if not in_cluster:
                raise
        key = ObjectKey(namespace, str(reference.get("name") or ""))
        there = Resolution(builtin(), [secret_in_cluster(key)])
        return there.secret(reference, namespace)

    return PlanSources(
        catalogue=builtin(),
        owner=view.owner_of,
        find=view.get,
        status=status_in_azure,
        secret=secret,
        token=token,
    )
