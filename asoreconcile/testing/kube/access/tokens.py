"""Tokens of service accounts, requested by `kubectl create token`.

Tokens are JWTs without a signature and remain valid while the server runs. Their expiry
time is not enforced here; a party that trusts the issuer can. A token for other
audiences than the API server does not sign in to it.
"""

import base64
import uuid
from datetime import timedelta

from asoreconcile.base.clock import Clock
from asoreconcile.base.jsontext import dumps
from asoreconcile.base.objects import JsonObject, ObjectKey, metadata, spec
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.testing.http import HttpRequest, HttpResponse
from asoreconcile.testing.kube.access.attributes import Attributes, attributes_of
from asoreconcile.testing.kube.access.users import Users, service_account
from asoreconcile.testing.kube.store.storage import Storage, StorageTable
from asoreconcile.testing.kube.wire import answers, bodies
from asoreconcile.testing.kube.wire.status import invalid, method_not_allowed, not_found

_ACCOUNTS = StorageTable("", "serviceaccounts")
_KIND, _GROUP = "TokenRequest", "authentication.k8s.io"
_SECONDS, _LEAST, _MOST = 3600, 600, 1 << 32
_AUDIENCE = "https://kubernetes.default.svc"
_SUBJECT = "system:serviceaccount"


class TokenRequests:
    """The answers to `serviceaccounts/NAME/token`. Safe to use from any thread."""

    def __init__(self, storage: Storage, users: Users, clock: Clock) -> None:
        self._storage = storage
        self._users = users
        self._clock = clock

    def are_at(self, about: Attributes) -> bool:
        """Return whether a request is for a token."""
        place = (about.group, about.resource, about.subresource)
        return place == ("", "serviceaccounts", "token") and bool(about.name)

    def answer(self, request: HttpRequest) -> HttpResponse:
        """Return 201 with the token. Raises StatusError."""
        about = attributes_of(request)
        if request.method != "POST":
            raise method_not_allowed()
        body = bodies.read(request, _KIND, built_in=True).obj
        key = ObjectKey(about.namespace, about.name)
        account = self._storage.get(_ACCOUNTS, key)
        if account is None:
            raise not_found("serviceaccounts", "", about.name)
        content = spec(body)
        seconds = content.get("expirationSeconds") or _SECONDS
        _check(seconds)
        now = self._clock.now()
        uid = str(metadata(account).get("uid") or "")
        user = service_account(about.namespace, about.name, uid)
        ends = now + timedelta(seconds=seconds)
        audiences = content.get("audiences") or [_AUDIENCE]
        token = _jwt(
            {
                "iss": _AUDIENCE,
                "sub": f"{_SUBJECT}:{about.namespace}:{about.name}",
                "aud": audiences,
                "jti": str(uuid.uuid4()),
                "nbf": int(now.timestamp()),
                "exp": int(ends.timestamp()),
            }
        )
        if _AUDIENCE in audiences:
            self._users.add(user, token)
        made: JsonObject = {
            "kind": _KIND,
            "apiVersion": f"{_GROUP}/v1",
            "metadata": {
                "name": about.name,
                "namespace": about.namespace,
                "creationTimestamp": f"{now:%Y-%m-%dT%H:%M:%SZ}",
            },
            "spec": {
                "audiences": audiences,
                "expirationSeconds": seconds,
                "boundObjectRef": content.get("boundObjectRef"),
            },
            "status": {
                "token": token,
                "expirationTimestamp": f"{ends:%Y-%m-%dT%H:%M:%SZ}",
            },
        }
        return answers.document(201, made)


def _jwt(claims: JsonObject) -> str:
    parts = (dumps({"alg": "none", "typ": "JWT"}), dumps(claims), b"none")
    return ".".join(
        base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts
    )


def _check(seconds: int) -> None:
    why = ""
    if seconds < _LEAST:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > _MOST:
        why = "may not specify a duration larger than 2^32 seconds"
    if why:
        text = f"Invalid value: {seconds}: {why}"
        cause = Cause("spec.expirationSeconds", "FieldValueInvalid", text)
        raise invalid(_KIND, _GROUP, "", [cause])
