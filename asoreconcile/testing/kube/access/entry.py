"""Who is asking, and whether he may: authentication and authorization of requests."""

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
    """rbac False: whoever shows a token may do everything. Safe from any thread."""

    def __init__(
        self, storage: Storage, users: Users, clock: Clock, *, rbac: bool
    ) -> None:
        self.has_rbac = rbac
        self._users = users
        self._authorizer = Authorizer(storage) if rbac else None
        self.reviews = Reviews(users, self._authorizer)
        self.tokens = TokenRequests(storage, users, clock)

    def user_of(self, request: HttpRequest) -> User | None:
        """Whose token a request shows; None for one that nobody has.

        With RBAC a request without a token is the anonymous user's.
        """
        header = request.headers.get("authorization", "")
        if not header and self.has_rbac:
            return ANONYMOUS
        return self._users.of_header(header)

    def acting(self, request: HttpRequest, user: User | None) -> User | None:
        """The identity a user acts with: its own, or the impersonated one.

        Raises StatusError 403 for one that he may not be, 400 for what names nobody.
        """
        wanted = impersonation.wanted(request)
        if wanted is None or user is None:
            return user
        for about in wanted.asked:
            self.check_may(user, about)
        return wanted.user

    def check(self, request: HttpRequest, user: User | None) -> None:
        """Nothing, if who asks may do it; else raises StatusError 401 or 403."""
        if user is None:
            raise unauthorized()
        self.check_may(user, attributes_of(request))

    def decide(self, user: User, about: Attributes) -> RbacDecision:
        """Whether a user may do something, and why."""
        if self._authorizer is None:
            return RbacDecision(allowed=True)
        return self._authorizer.decide(user, about)

    def check_may(self, user: User, about: Attributes) -> None:
        """Nothing, if the user may do that; else raises StatusError 403."""
        if self._authorizer is not None:
            self._authorizer.check(user, about)

    def check_may_create(self, user: User, request: HttpRequest) -> None:
        """For an apply that makes what is not there. Raises StatusError 403."""
        self.check_may(user, attrs.evolve(attributes_of(request), verb="create"))
