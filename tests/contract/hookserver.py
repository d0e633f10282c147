"""A webhook for API servers: it records requests and answers as the test decides."""

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from asoreconcile.testing.http import HttpRequest, HttpResponse, HttpsServer
from asoreconcile.testing.throwaway_certificates import certificate_authority

# The answer to the request of a review: a response, or the whole answer.
Answer = Callable[[dict[str, Any]], dict[str, Any] | HttpResponse]


class Hook:
    """A webhook. For each path, a function turns a request into a response,
    both JSON.
    """

    def __init__(self) -> None:
        authority = certificate_authority()
        self.bundle = base64.b64encode(authority.pem).decode()
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.answers: dict[str, Answer] = {}
        self.held = threading.Event()
        certificate = authority.issue(["127.0.0.1", "localhost"])
        self._server = HttpsServer(self._handle, certificate=certificate)

    def url(self, path: str) -> str:
        return f"{self._server.url}/{path}"

    def config(self, path: str) -> dict[str, str]:
        return {"url": self.url(path), "caBundle": self.bundle}

    def of(self, path: str) -> list[dict[str, Any]]:
        """Return the requests in the reviews of a path."""
        return [review["request"] for at, review in self.asked if at == path]

    @contextmanager
    def running(self) -> Iterator[Self]:
        self._server.start()
        try:
            yield self
        finally:
            self.held.set()
            self._server.close()

    def _handle(self, request: HttpRequest) -> HttpResponse:
        path = request.path.strip("/")
        review = json.loads(request.body)
        self.asked.append((path, review))
        answer = self.answers[path](review["request"])
        if isinstance(answer, HttpResponse):
            return answer
        response = {"uid": review["request"]["uid"], **answer}
        document = {
            "kind": review["kind"],
            "apiVersion": review["apiVersion"],
            "response": response,
        }
        return HttpResponse(
            200, json.dumps(document).encode(), {"Content-Type": "application/json"}
        )


def allowed(_: dict[str, Any]) -> dict[str, Any]:
    return {"allowed": True}


def patched(*operations: dict[str, Any]) -> Answer:
    """Return a response that patches the object."""
    patch = base64.b64encode(json.dumps(operations).encode()).decode()
    return lambda _: {"allowed": True, "patchType": "JSONPatch", "patch": patch}


def denied(**status: Any) -> Answer:
    return lambda _: {"allowed": False, **({"status": status} if status else {})}
