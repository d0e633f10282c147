"""What makes up one kind of users: its SQL, its driver, and where it signs in."""

from collections.abc import Callable

import attrs

from asoreconcile.azure.sql_users.dialect import Dialect
from asoreconcile.azure.sql_users.lookups import UserLookups
from asoreconcile.azure.sql_users.server import DatabaseServer, OpenSession, SignIn

FindServer = Callable[[UserLookups], DatabaseServer]
FindSignIn = Callable[[UserLookups, DatabaseServer], SignIn]


@attrs.frozen
class UserKind:
    """find_server, find_sign_in: raise ConditionError, and what a lookup raises."""

    dialect: Dialect
    connect: OpenSession
    find_server: FindServer
    find_sign_in: FindSignIn
