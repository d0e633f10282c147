"""Check that an object may manage a user of the server. Pure.

Each function raises ConditionError if it may not.
"""

from typing import Any

from asoreconcile.azure.sql_users.dialect import Dialect
from asoreconcile.azure.sql_users.quoting import unusable
from asoreconcile.azure.sql_users.server import SignIn
from asoreconcile.azure.sql_users.user import UserIdentity, shown_user


def require_ours(dialect: Dialect, identity: UserIdentity, facts: Any | None) -> None:
    """Raise for a user that belongs to the server itself, and for a superuser."""
    refusal = dialect.refusal(identity, facts)
    if refusal:
        raise unusable(
            f"user {shown_user(identity)} is not taken over: {refusal}; choose another "
            "azureName"
        )


def require_other(dialect: Dialect, identity: UserIdentity, sign_in: SignIn) -> None:
    """Raise for the administrator that the operator signs in as."""
    if dialect.is_user(identity, sign_in.user):
        raise unusable(
            f"user {shown_user(identity)} is the administrator that the operator signs "
            "in as: it is not taken over; choose another azureName"
        )


def require_kept(dialect: Dialect, former: UserIdentity, now: UserIdentity) -> None:
    """Raise for a changed name; webhooks enforce the same rule, if they run."""
    if former["name"] != now["name"] and not dialect.renames:
        raise unusable(
            f"spec.azureName cannot change from {former['name']!r} to "
            f"{now['name']!r}: change it back, or delete the object and create it "
            "anew"
        )


def require_free(former: UserIdentity, now: UserIdentity, facts: Any | None) -> None:
    """Raise if the new name of a user is taken. facts: of the user with that name."""
    if facts is not None:
        raise unusable(
            f"user {shown_user(former)} cannot become {shown_user(now)}, which the "
            "server has already: drop one of them by hand, or change the name back"
        )
