"""A machine's token endpoint for managed identities, over plain HTTP as in Azure.

The endpoint has two forms: the metadata service of virtual machines, and that of App
Service with a secret header. Azure's clients find it by the variables in `environment`.
"""

import secrets
import time

from asoreconcile.testing.arm.applications import ARM_AUDIENCES, OTHER_AUDIENCES
from asoreconcile.testing.arm.entra import Entra
from asoreconcile.testing.arm.refusals import answer
from asoreconcile.testing.faults import Faults
from asoreconcile.testing.http import HttpRequest, HttpResponse, HttpServer, Server

_METADATA_PATH = "/metadata/identity/oauth2/token"
_SERVICE_PATH = "/msi/token"


class Machine(Server):
    """One machine.

    identities: client ids that are assigned to it.
    own: client id of its system-assigned identity, or "" if it has none.
    faults: faults of this endpoint.
    """

    def __init__(
        self, entra: Entra, *, identities: tuple[str, ...], own: str = "", port: int = 0
    ) -> None:
        self.faults = Faults()
        self._entra = entra
        self._identities = {id_.lower(): id_ for id_ in identities}
        self._own = own
        self._secret = secrets.token_urlsafe(16)
        self._server = HttpServer(
            lambda request: self.faults.around(request, self._answer), port=port
        )

    @property
    def url(self) -> str:
        """Return `http://127.0.0.1:PORT`, from which IDENTITY_ENDPOINT and the like are
        made.
        """
        return self._server.url

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables by which Azure's libraries find the endpoint on a
        machine.
        """
        return {"AZURE_POD_IDENTITY_AUTHORITY_HOST": self.url}

    @property
    def app_service_environment(self) -> dict[str, str]:
        """Return the variables as App Service sets them, including the secret."""
        return {
            "IDENTITY_ENDPOINT": self.url + _SERVICE_PATH,
            "IDENTITY_HEADER": self._secret,
        }

    def start(self) -> None:
        """Start serving on a thread of its own. Returns at once."""
        self._server.start()

    def close(self) -> None:
        """Release the requests that a fault holds, then stop.

        Blocks until the listening socket is closed.
        """
        self.faults.release_all()
        self._server.close()

    def _answer(self, request: HttpRequest) -> HttpResponse:
        headers = request.headers
        if request.path == _METADATA_PATH:
            if headers.get("metadata", "").lower() != "true":
                return _refused(400, "Required metadata header not specified")
        elif request.path == _SERVICE_PATH:
            if headers.get("x-identity-header") != self._secret:
                return _refused(403, "The identity header is missing or wrong")
        else:
            return _refused(404, "Not found")
        return self._token(request)

    def _token(self, request: HttpRequest) -> HttpResponse:
        audience = request.query.get("resource", "").rstrip("/").lower()
        known = ARM_AUDIENCES | OTHER_AUDIENCES | self._entra.audiences
        if audience not in known:
            return _refused(400, "The resource is not known")
        asked = request.query.get("client_id", "")
        client_id = self._identities.get(asked.lower()) if asked else self._own
        if not client_id:
            return _refused(400, "Identity not found")
        life = self._entra.lifetime_seconds
        return answer(
            200,
            {
                "access_token": self._entra.issue(client_id, audience=audience),
                "client_id": client_id,
                "expires_in": str(life),
                "expires_on": str(int(time.time()) + life),
                "resource": request.query["resource"],
                "token_type": "Bearer",
            },
        )


def _refused(status: int, description: str) -> HttpResponse:
    return answer(
        status, {"error": "invalid_request", "error_description": description}
    )
