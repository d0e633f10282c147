"""The review kinds of authorization and authentication.

Reviews are answered, not stored. A review without a question raises StatusError.
"""

from collections.abc import Callable, Mapping
from typing import Any

from asoreconcile.base.objects import JsonObject, spec
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.testing.http import HttpRequest, HttpResponse
from asoreconcile.testing.kube.access.attributes import Attributes, attributes_of
from asoreconcile.testing.kube.access.rbac import Authorizer, RbacDecision
from asoreconcile.testing.kube.access.users import User, Users
from asoreconcile.testing.kube.wire import answers, bodies
from asoreconcile.testing.kube.wire.status import (
    StatusError,
    bad_request,
    invalid,
    method_not_allowed,
)

_AUTHORIZATION = "authorization.k8s.io"
_AUTHENTICATION = "authentication.k8s.io"
_LOCAL = "localsubjectaccessreviews"


class Reviews:
    """The answers to reviews. Without an authorizer, everything is allowed."""

    def __init__(self, users: Users, authorizer: Authorizer | None) -> None:
        self._users = users
        self._authorizer = authorizer
        self._answers: Mapping[
            tuple[str, str], tuple[str, Callable[[User, JsonObject, str], JsonObject]]
        ] = {
            (_AUTHORIZATION, "selfsubjectaccessreviews"): (
                "SelfSubjectAccessReview",
                self._own_access,
            ),
            (_AUTHORIZATION, "subjectaccessreviews"): (
                "SubjectAccessReview",
                self._access,
            ),
            (_AUTHORIZATION, _LOCAL): (
                "LocalSubjectAccessReview",
                self._access,
            ),
            (_AUTHORIZATION, "selfsubjectrulesreviews"): (
                "SelfSubjectRulesReview",
                self._own_rules,
            ),
            (_AUTHENTICATION, "tokenreviews"): ("TokenReview", self._token),
            (_AUTHENTICATION, "selfsubjectreviews"): ("SelfSubjectReview", self._self),
        }

    def are_at(self, about: Attributes) -> bool:
        """Return whether a request is for a review."""
        local = about.resource == _LOCAL
        if about.version != "v1" or about.name or bool(about.namespace) != local:
            return False
        return (about.group, about.resource) in self._answers

    def answer(self, request: HttpRequest, user: User) -> HttpResponse:
        """Return 201 with the review's status."""
        about = attributes_of(request)
        kind, answer = self._answers[about.group, about.resource]
        if request.method != "POST":
            raise method_not_allowed()
        body = bodies.read(request, kind, built_in=True).obj
        return answers.document(
            201,
            {
                **body,
                "kind": kind,
                "apiVersion": f"{about.group}/v1",
                "metadata": {"creationTimestamp": None},
                "status": answer(user, body, about.namespace),
            },
        )

    def _own_access(self, user: User, body: JsonObject, _: str) -> JsonObject:
        asked = _asked(spec(body))
        return self._shown(user, asked)

    def _access(self, _: User, body: JsonObject, namespace: str) -> JsonObject:
        content = spec(body)
        asked = _asked(content)
        if namespace and asked.namespace != namespace:
            why = f'Invalid value: "{asked.namespace}": must match metadata.namespace'
            at = "spec.resourceAttributes.namespace"
            raise _invalid(at, why)
        if not content.get("user") and not content.get("groups"):
            why = 'Invalid value: "": at least one of user or group must be specified'
            raise _invalid("spec.user", why)
        # The review states all that is known: this user was not authenticated.
        groups = tuple(str(group) for group in content.get("groups") or ())
        return self._shown(User(str(content.get("user") or ""), groups), asked)

    def _shown(self, user: User, asked: Attributes) -> JsonObject:
        decision = RbacDecision(allowed=True)
        if self._authorizer is not None:
            decision = self._authorizer.decide(user, asked)
        found: JsonObject = {"allowed": decision.allowed}
        if decision.reason:
            found["reason"] = decision.reason
        return found

    def _own_rules(self, user: User, body: JsonObject, _: str) -> JsonObject:
        namespace = str(spec(body).get("namespace") or "")
        if not namespace:
            raise bad_request("no namespace on request")
        rules: list[JsonObject] = [
            {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
            {"verbs": ["*"], "nonResourceURLs": ["*"]},
        ]
        if self._authorizer is not None:
            rules = self._authorizer.rules(user, namespace)
        return {
            "resourceRules": [rule for rule in rules if rule.get("resources")],
            "nonResourceRules": [rule for rule in rules if rule.get("nonResourceURLs")],
            "incomplete": False,
        }

    def _token(self, _: User, body: JsonObject, __: str) -> JsonObject:
        token = str(spec(body).get("token") or "")
        if not token:
            raise bad_request("token is required for TokenReview in authentication")
        found = self._users.of_token(token)
        if found is None:
            return {"user": {}, "error": "invalid bearer token"}
        return {"authenticated": True, "user": found.to_json()}

    def _self(self, user: User, _: JsonObject, __: str) -> JsonObject:
        return {"userInfo": user.to_json()}


def _asked(content: Mapping[str, Any]) -> Attributes:
    resource = content.get("resourceAttributes")
    path = content.get("nonResourceAttributes")
    for name, stated in content.items():
        if name.endswith("Attributes") and not isinstance(stated or {}, dict):
            raise bad_request(f"json: cannot unmarshal into Go struct field .{name}")
    if (resource is None) == (path is None):
        why = (
            'Invalid value: "null": exactly one of nonResourceAttributes or '
            "resourceAttributes must be specified"
        )
        at = "spec.resourceAttributes"
        raise _invalid(at, why)
    if path is not None:
        return Attributes(str(path.get("verb") or ""), str(path.get("path") or ""))
    names = ("group", "version", "resource", "subresource", "namespace", "name")
    found = {name: str((resource or {}).get(name) or "") for name in names}
    return Attributes(str((resource or {}).get("verb") or ""), "", **found)


def _invalid(at: str, why: str) -> StatusError:
    # The real server names no kind here either.
    return invalid("", _AUTHORIZATION, "", [Cause(at, "FieldValueInvalid", why)])
