"""A look into the simulator from outside its process, beside ARM's own paths.

`/_control/journal?after=N`, `/_control/counts`, `/_control/resources`, with the control
token in the header `x-control-token`. No Azure client ever calls these.
"""

import hmac
from collections import Counter
from collections.abc import Callable, Sequence

import attrs

from asoreconcile.objects import JsonObject
from asoreconcile.testing.arm.journal import Exchange
from asoreconcile.testing.arm.refusals import answer, error
from asoreconcile.testing.http import Request, Response

PREFIX = "/_control/"


class Control:
    """Answers control requests; without a token, none."""

    def __init__(
        self,
        token: str,
        *,
        journal: Sequence[Exchange],
        resources: Callable[[], dict[str, JsonObject]],
    ) -> None:
        self._token = token
        self._journal = journal
        self._resources = resources

    def handle(self, request: Request) -> Response:
        given = request.headers.get("x-control-token", "").encode()
        if not self._token or not hmac.compare_digest(given, self._token.encode()):
            return error(403, "Forbidden", "The control token is missing or wrong.")
        match request.path.removeprefix(PREFIX):
            case "counts":
                return answer(200, self._counts())
            case "journal":
                after = int(request.query.get("after", "0") or 0)
                entries = [attrs.asdict(e) for e in self._journal[after:]]
                return answer(200, {"entries": entries})
            case "resources":
                return answer(200, {"resources": self._resources()})
        return error(404, "NotFound", f"There is no {request.path}.")

    def _counts(self) -> JsonObject:
        journal = list(self._journal)
        return {
            "requests": len(journal),
            "byMethod": Counter(e.method for e in journal),
            "byPurpose": Counter(e.purpose for e in journal),
            "byStatus": Counter(str(e.status) for e in journal),
            "byResource": Counter(e.resource for e in journal),
            "resources": len(self._resources()),
        }
