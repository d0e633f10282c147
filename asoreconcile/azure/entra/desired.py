"""Translate the spec of a SecurityGroup to Microsoft Graph's terms. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.base.objects import JsonObject

MARK_PREFIX = "asoreconcile-"
UNIFIED = "Unified"
# "enabled" says that a rule decides who is a member, and the spec has no field for the
# rule: such a group is made with assigned members, and a rule that it has is left.
_UNIFIED: Mapping[str, bool] = {
    "assigned": False,
    "assignedm365": True,
    "enabled": False,
    "enabledm365": True,
}
RULED = frozenset({"enabled", "enabledm365"})
_ALWAYS_CREATE = "AlwaysCreate"


@attrs.frozen
class DesiredGroup:
    """A spec; None for values that Graph chooses.

    mail_nickname: the part before the @ of an address.
    membership: as in the spec, "" if not set.
    adopts: if true, an existing group may become the object's.
    """

    display_name: str
    mail_nickname: str
    description: str | None
    membership: str
    is_assignable: bool | None
    adopts: bool

    @property
    def is_unified(self) -> bool:
        """Return whether the group is created as a Microsoft 365 group."""
        return _UNIFIED.get(self.membership, False)


def desired_group(spec: JsonObject) -> DesiredGroup:
    """Return the group that a spec describes.

    Raises ConditionError `Failed` (Error) for a spec that no schema has checked.
    """
    name, nickname = (_text(spec, field) for field in ("displayName", "mailNickname"))
    operator_spec = spec.get("operatorSpec") or {}
    return DesiredGroup(
        display_name=name,
        mail_nickname=nickname.partition("@")[0],
        description=spec.get("description"),
        membership=str(spec.get("membershipType") or ""),
        is_assignable=spec.get("isAssignableToRole"),
        adopts=operator_spec.get("creationMode") != _ALWAYS_CREATE,
    )


def unique_name_of(uid: str) -> str:
    """Return the `uniqueName` of the group that is created for an object.

    Graph allows one group per name and never changes the name, so the group is found
    again even if the response to its creation was lost.
    """
    return f"{MARK_PREFIX}{uid}"


def creation_body(
    desired: DesiredGroup, links: Mapping[str, Sequence[str]]
) -> JsonObject:
    """Return the body that creates the group. links: `members`, `owners` to
    references.
    """
    body: JsonObject = {
        "displayName": desired.display_name,
        "mailNickname": desired.mail_nickname,
        "mailEnabled": desired.is_unified,
        "securityEnabled": True,
        "groupTypes": [UNIFIED] if desired.is_unified else [],
    }
    if desired.description:
        body["description"] = desired.description
    if desired.is_assignable is not None:
        body["isAssignableToRole"] = desired.is_assignable
    for link, references in links.items():
        if references:
            body[f"{link}@odata.bind"] = list(references)
    return body


def changes_of(desired: DesiredGroup, group: JsonObject) -> JsonObject:
    """Return the properties of a group that differ from the spec, with the spec's
    values.
    """
    values: dict[str, Any] = {
        "displayName": desired.display_name,
        "mailNickname": desired.mail_nickname,
        "securityEnabled": True,
    }
    if desired.description is not None:
        values["description"] = desired.description or None  # Graph takes no ""
    return {n: v for n, v in values.items() if group.get(n) != v}


def require_possible(desired: DesiredGroup, group: JsonObject) -> None:
    """Raise ConditionError `Failed` (Error) for changes that Graph cannot make to a
    group.
    """
    if group.get("onPremisesSyncEnabled") and changes_of(desired, group):
        raise _impossible(
            f"the group {group['id']} is synchronised from a directory on premises and "
            "can be changed there alone: change it there, or set the reconcile policy "
            "to skip"
        )
    is_assignable = bool(group.get("isAssignableToRole"))
    if desired.is_assignable not in (None, is_assignable):
        raise _impossible(
            f"isAssignableToRole of the group {group['id']} is "
            f"{str(is_assignable).lower()} and cannot change: change the spec back, or "
            "delete the object and create it anew"
        )
    is_unified = UNIFIED in (group.get("groupTypes") or ())
    is_said = desired.membership and desired.membership not in RULED
    if is_said and desired.is_unified != is_unified:
        kind = "a Microsoft 365 group" if is_unified else "no Microsoft 365 group"
        raise _impossible(
            f"the group {group['id']} is {kind}, which cannot change: membershipType "
            f"{desired.membership!r} is for another: change the spec back, or delete "
            "the object and create it anew"
        )


def status_of(group: JsonObject) -> JsonObject:
    """Return the status of the object, without conditions."""
    values = {
        "entraID": group.get("id"),
        "displayName": group.get("displayName"),
        "groupEmailAddress": group.get("mailNickname"),
        "description": group.get("description"),
    }
    return {name: value for name, value in values.items() if value is not None}


def _text(spec: JsonObject, field: str) -> str:
    value = spec.get(field)
    if not isinstance(value, str) or not value.partition("@")[0]:
        raise _impossible(f"spec.{field} is missing: a group must have it")
    return value


def _impossible(message: str) -> ConditionError:
    return ConditionError(message, reason="Failed", severity="Error")
