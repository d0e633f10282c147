"""`authorizer` in match conditions: the permissions of the user who writes.

authorizer.group("apps").resource("deployments").namespace("a").check("get").allowed()

A question is a value that these functions extend; `check` asks it. The user and the
authorizer are set for the time of one evaluation, on its thread.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.kube.access.attributes import Attributes
from asoreconcile.testing.kube.access.rbac import RbacDecision
from asoreconcile.testing.kube.access.users import User, service_account

DecideAccess = Callable[[User, Attributes], RbacDecision]
_FIELDS = ("group", "resource", "subresource", "namespace", "name")
_SELECTORS = ("fieldSelector", "labelSelector")
_asking = threading.local()


@contextmanager
def asking(user: User, decide: DecideAccess) -> Iterator[None]:
    """Set the user and the authorizer for this thread during a `with` block."""
    _asking.user, _asking.decide = user, decide
    try:
        yield
    finally:
        del _asking.user, _asking.decide


def value(request: JsonObject) -> JsonObject:
    """Return `authorizer` for a review's request."""
    asked = request["resource"]
    about = {
        "group": asked["group"],
        "resource": asked["resource"],
        "subresource": request.get("subResource", ""),
        "namespace": request.get("namespace", ""),
        "name": request.get("name", ""),
    }
    return {"requestResource": about}


def functions(cel: Any) -> list[Any]:
    """Return the functions for the engine's environment."""
    dyn, text = cel.Type.DYN, cel.Type.STRING

    def member(name: str, gives: Any, impl: Callable[..., Any], *takes: Any) -> Any:
        one = cel.Overload(
            f"authorizer_{name}_{len(takes)}",
            return_type=gives,
            parameters=[dyn, *takes],
            is_member=True,
            impl=impl,
        )
        return cel.FunctionDecl(name, [one])

    return [
        *(member(name, dyn, _setter(name), text) for name in _FIELDS),
        *(member(name, dyn, _setter(name), text) for name in _SELECTORS),
        member("path", dyn, _setter("path"), text),
        member("serviceAccount", dyn, _as_account, text, text),
        member("check", dyn, _check, text),
        member("allowed", cel.Type.BOOL, lambda found: found["allowed"]),
        member("reason", text, lambda found: found["reason"]),
        member("errored", cel.Type.BOOL, lambda _: False),
        member("error", text, lambda _: ""),
    ]


def _setter(field: str) -> Callable[[Mapping[str, Any], str], JsonObject]:
    return lambda about, text: {**about, field: text}


def _as_account(about: Mapping[str, Any], namespace: str, name: str) -> JsonObject:
    return {**about, "account": [namespace, name]}


def _check(about: Mapping[str, Any], verb: str) -> JsonObject:
    user: User = _asking.user
    if about.get("account"):
        user = service_account(*about["account"])
    stated = {name: str(about.get(name) or "") for name in _FIELDS}
    asked = Attributes(verb, str(about.get("path") or ""), **stated)
    found: RbacDecision = _asking.decide(user, asked)
    return {"allowed": found.allowed, "reason": found.reason}
