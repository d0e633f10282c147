"""The kinds of Entra. Pure."""

from collections.abc import Mapping

from asoreconcile.azure.entra.applications import APPLICATION, SERVICE_PRINCIPAL
from asoreconcile.azure.entra.desired import DesiredObject, EntraKind
from asoreconcile.azure.entra.groups import SECURITY_GROUP
from asoreconcile.base.objects import GroupKind, JsonObject, spec

_GROUP = "entra.azure.com"
ENTRA_KINDS: Mapping[GroupKind, EntraKind] = {
    GroupKind(_GROUP, "SecurityGroup"): SECURITY_GROUP,
    GroupKind(_GROUP, "Application"): APPLICATION,
    GroupKind(_GROUP, "ServicePrincipal"): SERVICE_PRINCIPAL,
}


def kind_of(obj: JsonObject) -> EntraKind:
    """Return the kind of an object."""
    return ENTRA_KINDS[GroupKind(_GROUP, obj["kind"])]


def desired_of(obj: JsonObject) -> DesiredObject:
    """Return the spec of an object in Graph's terms. Raises ConditionError `Failed`
    (Error) for a spec that no schema has checked.
    """
    return kind_of(obj).desired(spec(obj))


def status_of(obj: JsonObject, entry: JsonObject) -> JsonObject:
    """Return the status of an object without conditions, for its entry."""
    shown = kind_of(obj).shown(entry)
    return {name: value for name, value in shown.items() if value is not None}
