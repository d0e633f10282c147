"""Reviews: questions to the server about what a client may do, and who it is.

With one bearer token there is one user, who may do everything. Stateless.
"""

from asoreconcile.objects import JsonObject
from asoreconcile.testing.http import Request, Response
from asoreconcile.testing.kube import answers, bodies
from asoreconcile.testing.kube.status import method_not_allowed

USER: JsonObject = {
    "username": "admin",
    "uid": "admin",
    "groups": ["system:masters", "system:authenticated"],
}
_ANY: JsonObject = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
_AUTHORIZATION = "/apis/authorization.k8s.io/v1"
_KINDS = {
    f"{_AUTHORIZATION}/selfsubjectaccessreviews": "SelfSubjectAccessReview",
    f"{_AUTHORIZATION}/selfsubjectrulesreviews": "SelfSubjectRulesReview",
    "/apis/authentication.k8s.io/v1/selfsubjectreviews": "SelfSubjectReview",
}


class Reviews:
    """Answers reviews. Raises StatusError."""

    def are_at(self, path: str) -> bool:
        return path in _KINDS

    def answer(self, request: Request) -> Response:
        """201 with the review's status."""
        kind = _KINDS[request.path.rstrip("/")]
        if request.method != "POST":
            raise method_not_allowed()
        asked = bodies.read(request, kind, built_in=True).obj
        return answers.document(
            201,
            {
                **asked,
                "kind": kind,
                "apiVersion": request.path.strip("/")
                .removeprefix("apis/")
                .rpartition("/")[0],
                "metadata": {"creationTimestamp": None},
                "status": _status(kind),
            },
        )


def _status(kind: str) -> JsonObject:
    if kind == "SelfSubjectReview":
        return {"userInfo": USER}
    if kind == "SelfSubjectRulesReview":
        urls = [{"verbs": ["*"], "nonResourceURLs": ["*"]}]
        return {"resourceRules": [_ANY], "nonResourceRules": urls, "incomplete": False}
    return {"allowed": True}
