"""Translate the spec of a SecurityGroup to Microsoft Graph's terms. Pure."""

from collections.abc import Mapping

from asoreconcile.azure.arm.condition_error import unusable
from asoreconcile.azure.entra.desired import (
    DesiredObject,
    EntraKind,
    changes_of,
    desired_object,
    text_in,
)
from asoreconcile.azure.graph.collections import GROUPS
from asoreconcile.base.objects import JsonObject

UNIFIED = "Unified"
# "enabled" says that a rule decides who is a member, and the spec has no field for the
# rule: such a group is made with assigned members, and a rule that it has is left.
_UNIFIED: Mapping[str, bool] = {
    "assigned": False,
    "assignedm365": True,
    "enabled": False,
    "enabledm365": True,
}
_RULED = frozenset({"enabled", "enabledm365"})


def desired_group(spec: JsonObject) -> DesiredObject:
    """Return the group that a spec describes.

    Raises ConditionError `Failed` (Error) for a spec that no schema has checked.
    """
    name = text_in(spec, "displayName", "a group")
    # The part before the @ of an address.
    nickname = text_in(spec, "mailNickname", "a group").partition("@")[0]
    if not nickname:
        raise unusable("spec.mailNickname is empty before its @")
    membership = str(spec.get("membershipType") or "")
    is_unified = _UNIFIED.get(membership, False)
    creation: JsonObject = {
        "mailEnabled": is_unified,
        "groupTypes": [UNIFIED] if is_unified else [],
    }
    if spec.get("isAssignableToRole") is not None:
        creation["isAssignableToRole"] = spec["isAssignableToRole"]
    properties: JsonObject = {
        "displayName": name,
        "mailNickname": nickname,
        "securityEnabled": True,
    }
    if spec.get("description") is not None:
        properties["description"] = spec["description"]
    return desired_object(
        GROUPS,
        spec,
        properties=properties,
        at_creation=creation,
        search=("displayName", name),
        nickname=nickname,
    )


def _require_possible(spec: JsonObject, group: JsonObject) -> None:
    """Raise ConditionError `Failed` (Error) for changes that Graph cannot make to a
    group.
    """
    desired = desired_group(spec)
    if group.get("onPremisesSyncEnabled") and changes_of(desired, group):
        raise unusable(
            f"the group {group['id']} is synchronised from a directory on premises and "
            "can be changed there alone: change it there, or set the reconcile policy "
            "to skip"
        )
    is_assignable = bool(group.get("isAssignableToRole"))
    if spec.get("isAssignableToRole") not in (None, is_assignable):
        raise unusable(
            f"isAssignableToRole of the group {group['id']} is "
            f"{str(is_assignable).lower()} and cannot change: change the spec back, or "
            "delete the object and create it again"
        )
    is_unified = UNIFIED in (group.get("groupTypes") or ())
    membership = str(spec.get("membershipType") or "")
    is_said = membership and membership not in _RULED
    if is_said and _UNIFIED.get(membership, False) != is_unified:
        kind = "a Microsoft 365 group" if is_unified else "no Microsoft 365 group"
        raise unusable(
            f"the group {group['id']} is {kind}, which cannot change: membershipType "
            f"{membership!r} is for another: change the spec back, or delete "
            "the object and create it again"
        )


def _shown(group: JsonObject) -> JsonObject:
    return {
        "entraID": group.get("id"),
        "displayName": group.get("displayName"),
        "groupEmailAddress": group.get("mailNickname"),
        "description": group.get("description"),
    }


SECURITY_GROUP = EntraKind(
    GROUPS,
    desired=desired_group,
    shown=_shown,
    require_possible=_require_possible,
    permission="Group.ReadWrite.All",
    exports={"entraID": "id"},
    links=("owners", "members"),
    # ASO's schema accepts no status, and so no condition, without it.
    first_status=lambda desired: {"groupEmailAddress": desired.nickname},
)
