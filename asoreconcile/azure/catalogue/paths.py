"""Build a resource's ARM id from its owner's."""

from asoreconcile.azure.arm import ids
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.base.errors import AsoreconcileError


class PathError(AsoreconcileError):
    """An id cannot be built: a name or the owner's id is unknown or not valid."""


def arm_id(
    version: KindVersion, *, name: str, owner_id: str, subscription_id: str
) -> str:
    """Return the full ARM id, without a trailing slash, cased as given.

    name: the Azure name.
    owner_id: the owner's full ARM id, resolved from `spec.owner.name` or given as
    `armId`; unused for a resource group and for a tenant's own resources.
    subscription_id: used for a resource group only.

    `validation` checks whether the owner has the right type. This function never
    searches the owner's id for the provider's name, so a resource group called
    `microsoft.network` is just a name (D20).

    Raises PathError for an empty part, and for a name that is not a single segment,
    because it would address another resource. Pure. Rules: R11.1-R11.4.
    """
    if not name:
        raise PathError(f"the Azure name of this {version.gvk.kind} is not known")
    # With a slash or `..` the PUT would reach another resource than the one named.
    if problem := ids.segment_problem(name):
        raise PathError(f"no resource can be called {name!r}: the name {problem}")
    if version.scope == "Location":
        if not subscription_id:
            raise PathError(f"the subscription of resource group {name} is not known")
        return f"/subscriptions/{subscription_id}/resourceGroups/{name}"
    provider, types = version.provider, version.types
    if version.scope == "Tenant":
        return f"/providers/{provider}/{'/'.join(types)}/{name}"
    if not owner_id:
        raise PathError(f"the owner of this {version.gvk.kind} has no ARM id yet")
    owner_id = owner_id.rstrip("/")
    if version.scope == "Extension" or len(types) == 1:
        return f"{owner_id}/providers/{provider}/{'/'.join(types)}/{name}"
    return f"{owner_id}/{types[-1]}/{name}"
