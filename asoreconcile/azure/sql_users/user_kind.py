"""The parts of one kind of users: its SQL, its driver, and its sign-in."""

from collections.abc import Callable

import attrs

from asoreconcile.azure.sql_users.dialect import Dialect
from asoreconcile.azure.sql_users.lookups import UserLookups
from asoreconcile.azure.sql_users.server import DatabaseServer, OpenSession, SignIn

FindServer = Callable[[UserLookups], DatabaseServer]
FindSignIn = Callable[[UserLookups, DatabaseServer], SignIn]


@attrs.frozen
class UserKind:
    """One kind of users.

    find_server, find_sign_in: raise ConditionError, and the errors of a lookup.
    """

    dialect: Dialect
    connect: OpenSession
    find_server: FindServer
    find_sign_in: FindSignIn
