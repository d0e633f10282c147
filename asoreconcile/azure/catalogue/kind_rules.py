"""Rules of single kinds that no schema and no table contains: required names and
unions.

Azure allows one name for a domain that Azure manages, and names a sender after its user
name. Database users have no mapping table; their rules are written here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from asoreconcile.azure.catalogue.problems import Problem
from asoreconcile.base.objects import GroupKind, JsonObject, dig, spec

_DOMAIN = GroupKind("communication.azure.com", "Domain")
_SENDER = GroupKind("communication.azure.com", "SenderUsername")
_MYSQL_USER = GroupKind("dbformysql.azure.com", "User")
_MANAGED_DOMAIN = "AzureManagedDomain"
_ONE_USER = "set exactly one of localUser and aadUser"

_FIXED_USERS = frozenset({_MYSQL_USER, GroupKind("sql.azure.com", "User")})


def given_name(group_kind: GroupKind, obj: JsonObject) -> str:
    """Return the only Azure name that an object can have; "" if any name is allowed."""
    content = spec(obj)
    if group_kind == _DOMAIN and content.get("domainManagement") == "AzureManaged":
        return _MANAGED_DOMAIN
    if group_kind == _SENDER:
        return str(content.get("username") or "")
    return ""


def has_given_name(group_kind: GroupKind) -> bool:
    """Return whether `given_name` can return a name for objects of the kind."""
    return group_kind in (_DOMAIN, _SENDER)


def kind_problems(group_kind: GroupKind, obj: JsonObject) -> Iterator[Problem]:
    """Yield the problems of an object that the rules of its kind find."""
    check = _CHECKS.get(group_kind)
    if check is not None:
        yield from check(group_kind, obj)


def is_fixed_user(group_kind: GroupKind) -> bool:
    """Return whether users of a kind keep name and owner after the operator has claimed
    them.

    PostgreSQL users may change both.
    """
    return group_kind in _FIXED_USERS


def schema_rules(group_kind: GroupKind) -> Sequence[JsonObject]:
    """Return the rules of `kind_problems` as CEL rules for the spec in a CRD."""
    return [
        {"rule": rule, "message": message}
        for rule, message in _SCHEMA_RULES.get(group_kind, ())
    ]


def kind_changes(
    group_kind: GroupKind, old: JsonObject, new: JsonObject
) -> Iterator[Problem]:
    """Yield the problems of an update that is never allowed, even before the resource
    exists.
    """
    if group_kind != _MYSQL_USER:
        return
    was, now = spec(old), spec(new)
    for field, other in (("aadUser", "localUser"), ("localUser", "aadUser")):
        if was.get(field) and now.get(other) and not now.get(field):
            yield Problem(
                f"spec.{field}",
                f"cannot become {other}: a user stays of its type, make another one",
            )
    alias, wanted = dig(was, "aadUser.alias"), dig(now, "aadUser.alias")
    if was.get("aadUser") and now.get("aadUser") and alias != wanted:
        yield Problem(
            "spec.aadUser.alias", f"cannot change from {alias!r} to {wanted!r}"
        )


def _name_problems(group_kind: GroupKind, obj: JsonObject) -> Iterator[Problem]:
    stated, given = spec(obj).get("azureName"), given_name(group_kind, obj)
    if stated and given and str(stated).casefold() != given.casefold():
        yield Problem(
            "spec.azureName",
            f"must be {given!r} here, is {stated!r}: set that, or leave it out",
        )


def _user_problems(_: GroupKind, obj: JsonObject) -> Iterator[Problem]:
    content = spec(obj)
    given = [name for name in ("aadUser", "localUser") if content.get(name)]
    if len(given) != 1:
        yield Problem("spec", _ONE_USER)


_CHECKS: Mapping[GroupKind, Callable[[GroupKind, JsonObject], Iterator[Problem]]] = {
    _DOMAIN: _name_problems,
    _SENDER: _name_problems,
    _MYSQL_USER: _user_problems,
}

# Azure compares these names without case, and so do the rules.
_MANAGED_NAME_RULE = (
    "self.domainManagement != 'AzureManaged' || !has(self.azureName) || "
    f"self.azureName.lowerAscii() == '{_MANAGED_DOMAIN.lower()}'"
)
_SENDER_NAME_RULE = (
    "!has(self.azureName) || self.azureName.lowerAscii() == self.username.lowerAscii()"
)
_ALIAS_RULE = (
    "!has(self.aadUser) || !has(oldSelf.aadUser) || "
    "(has(self.aadUser.alias) ? self.aadUser.alias : '') == "
    "(has(oldSelf.aadUser.alias) ? oldSelf.aadUser.alias : '')"
)
_SCHEMA_RULES: Mapping[GroupKind, Sequence[tuple[str, str]]] = {
    _DOMAIN: ((_MANAGED_NAME_RULE, f"azureName must be {_MANAGED_DOMAIN} here"),),
    _SENDER: ((_SENDER_NAME_RULE, "azureName must be the username"),),
    _MYSQL_USER: (
        ("has(self.localUser) != has(self.aadUser)", _ONE_USER),
        (
            "has(self.localUser) == has(oldSelf.localUser)",
            "a user stays of its type: make another one",
        ),
        (_ALIAS_RULE, "aadUser.alias cannot change"),
    ),
}
