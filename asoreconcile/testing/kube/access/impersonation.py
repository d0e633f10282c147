"""Impersonation: the `Impersonate-` headers of a request. Pure."""

import attrs

from asoreconcile.testing.http import HttpRequest
from asoreconcile.testing.kube.access.attributes import Attributes
from asoreconcile.testing.kube.access.users import ANONYMOUS, User, service_account
from asoreconcile.testing.kube.wire.status import bad_request

_USER, _GROUP, _UID = "impersonate-user", "impersonate-group", "impersonate-uid"
_EXTRA = "impersonate-extra-"
_ACCOUNT = "system:serviceaccount:"
_GROUP_NAME = "authentication.k8s.io"


@attrs.frozen
class ImpersonatedUser:
    """The impersonated user, and the permissions that this requires."""

    user: User
    asked: tuple[Attributes, ...]


def wanted(request: HttpRequest) -> ImpersonatedUser | None:
    """Return the impersonated user, or None if the request impersonates no user.

    Raises StatusError 400 for a group without a user.
    """
    headers = request.headers
    name, uid = headers.get(_USER, ""), headers.get(_UID, "")
    groups = tuple(g.strip() for g in headers.get(_GROUP, "").split(",") if g.strip())
    extras = [(n, value) for n, value in headers.items() if n.startswith(_EXTRA)]
    if not name:
        if groups or uid or extras:
            raise bad_request("requested groups without impersonating a user name")
        return None
    asked = [
        _about(request, "users", name),
        *(_about(request, "groups", group) for group in groups),
        *(
            _about(request, "userextras", value, n.removeprefix(_EXTRA))
            for n, value in extras
        ),
    ]
    if uid:
        asked.append(_about(request, "uids", uid))
    user = User(name, groups, uid)
    if name.startswith(_ACCOUNT) and name.count(":") == 3:
        namespace, account = name.removeprefix(_ACCOUNT).split(":")
        about = attrs.evolve(_about(request, "serviceaccounts", account))
        asked[0] = attrs.evolve(about, namespace=namespace)
        made = service_account(namespace, account, uid)
        user = attrs.evolve(made, groups=groups) if groups else made
    elif name == ANONYMOUS.name:
        user = attrs.evolve(ANONYMOUS, groups=(*groups, *ANONYMOUS.groups))
    return ImpersonatedUser(user, tuple(asked))


def _about(request: HttpRequest, what: str, name: str, part: str = "") -> Attributes:
    group = _GROUP_NAME if what in ("uids", "userextras") else ""
    return Attributes(
        "impersonate",
        request.path,
        group=group,
        resource=what,
        subresource=part,
        name=name,
    )
