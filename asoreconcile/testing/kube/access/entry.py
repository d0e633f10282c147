"""Authentication and authorization of requests."""

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.testing.http import HttpRequest
from asoreconcile.testing.kube.access import impersonation
from asoreconcile.testing.kube.access.attributes import Attributes, attributes_of
from asoreconcile.testing.kube.access.rbac import Authorizer, RbacDecision
from asoreconcile.testing.kube.access.reviews import Reviews
from asoreconcile.testing.kube.access.tokens import TokenRequests
from asoreconcile.testing.kube.access.users import ANONYMOUS, User, Users
from asoreconcile.testing.kube.store.storage import Storage
from asoreconcile.testing.kube.wire.status import unauthorized


class AccessControl:
    """The access control of a server. Safe to use from any thread.

    rbac: if false, every user with a token may do everything.
    """

    def __init__(
        self, storage: Storage, users: Users, clock: Clock, *, rbac: bool
    ) -> None:
        self.has_rbac = rbac
        self._users = users
        self._authorizer = Authorizer(storage) if rbac else None
        self.reviews = Reviews(users, self._authorizer)
        self.tokens = TokenRequests(storage, users, clock)

    def user_of(self, request: HttpRequest) -> User | None:
        """Return the user whose token a request has, or None for an unknown token.

        With RBAC, a request without a token is the anonymous user's.
        """
        header = request.headers.get("authorization", "")
        if not header and self.has_rbac:
            return ANONYMOUS
        return self._users.of_header(header)

    def acting(self, request: HttpRequest, user: User | None) -> User | None:
        """Return the identity that a user acts as: its own, or the impersonated one.

        Raises StatusError 403 if the user may not impersonate the other, and 400 if the
        headers name no user.
        """
        wanted = impersonation.wanted(request)
        if wanted is None or user is None:
            return user
        for about in wanted.asked:
            self.check_may(user, about)
        return wanted.user

    def check(self, request: HttpRequest, user: User | None) -> None:
        """Check that the user may make the request. Raises StatusError 401 or 403."""
        if user is None:
            raise unauthorized()
        self.check_may(user, attributes_of(request))

    def decide(self, user: User, about: Attributes) -> RbacDecision:
        """Return whether a user may do something, and why."""
        if self._authorizer is None:
            return RbacDecision(allowed=True)
        return self._authorizer.decide(user, about)

    def check_may(self, user: User, about: Attributes) -> None:
        """Check that a user may do something. Raises StatusError 403."""
        if self._authorizer is not None:
            self._authorizer.check(user, about)

    def check_may_create(self, user: User, request: HttpRequest) -> None:
        """Check that a user may create an object by an apply. Raises
        StatusError 403.
        """
        self.check_may(user, attrs.evolve(attributes_of(request), verb="create"))
