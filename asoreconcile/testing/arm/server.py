"""The ARM simulator: Azure Resource Manager and its token endpoint over TLS.

    with ArmServer() as azure:
        azure.write_ca(path)          # for REQUESTS_CA_BUNDLE
        settings = azure.settings()   # for the operator's environment

The simulator accepts all resource types and answers in each provider's way (`styles`).
`faults` makes requests fail, and `journal` lists the requests.
"""

import re
import threading
import uuid
from pathlib import Path

import attrs

from asoreconcile.base.clock import Clock, SystemClock
from asoreconcile.base.objects import JsonObject, dig
from asoreconcile.testing.arm.address import parse
from asoreconcile.testing.arm.cloud import Cloud, bearer_token
from asoreconcile.testing.arm.control import PREFIX, ArmControl
from asoreconcile.testing.arm.faults import ArmFaults
from asoreconcile.testing.arm.gateway import Gateway
from asoreconcile.testing.arm.journal import JournalEntry, exchange, matching
from asoreconcile.testing.arm.lag import Lag
from asoreconcile.testing.arm.listing import ListHandler
from asoreconcile.testing.arm.machine import Machine
from asoreconcile.testing.arm.monitors import MonitorRegistry
from asoreconcile.testing.arm.named_faults import NamedFault
from asoreconcile.testing.arm.named_styles import style_type
from asoreconcile.testing.arm.operations import Operations
from asoreconcile.testing.arm.providers import Providers
from asoreconcile.testing.arm.recorder import ExchangeRecorder
from asoreconcile.testing.arm.resources import Resources
from asoreconcile.testing.arm.scopes import Scopes
from asoreconcile.testing.arm.scripted import plan
from asoreconcile.testing.arm.session import ArmSession
from asoreconcile.testing.arm.simulation import Simulation
from asoreconcile.testing.arm.styles import Styles
from asoreconcile.testing.arm.tenants import Tenants
from asoreconcile.testing.arm.throttling import Throttling
from asoreconcile.testing.arm.type_checks import TypeChecks
from asoreconcile.testing.arm.type_facts import BrokenRule, published
from asoreconcile.testing.arm.views import Views
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.graph import GraphServer
from asoreconcile.testing.http import HttpRequest, HttpResponse

_GROUP = re.compile(r"/v1\.0/[A-Za-z]+/([0-9a-fA-F-]{36})")


class ArmServer(Cloud):
    """A simulated Azure. Start it with `with` or `start()`, end it with `close()`."""

    def __init__(
        self,
        *,
        port: int = 0,
        token_port: int = 0,
        clock: Clock | None = None,
        latency: float = 0.0,
        lro: float = 0.0,
        retry_after: int | None = None,
        subscription_id: str = "",
        token_lifetime_seconds: int = 3600,
        control_token: str = "",
        read_lag: float = 0.0,
        throttle: bool = False,
        page_size: int = 0,
        public_url: str = "",
        graph_port: int = 0,
        strict: bool = True,
        record: str | Path = "",
    ) -> None:
        """Make the servers.

        port, token_port, graph_port: 0 is any free port.
        latency: seconds before each answer.
        lro: duration of long-running operations in seconds.
        retry_after: seconds, in place of those that each provider asks for.
        control_token: token for `/_control/`; "" closes the path.
        read_lag: seconds for which reads show the state before a write.
        throttle: if true, refuse requests beyond Microsoft's published budgets.
        page_size: number of entries on a page of a list; 0 means all on one page.
        public_url: address at which clients reach the server, if there is a proxy
        before it.
        strict: if true, refuse names, locations, api-versions, bodies, references and
        changes that Azure's published types exclude.
        record: archive to write the exchanges to at the end; "" writes nothing.
        """
        clock = clock or SystemClock()
        self.faults = ArmFaults(clock)
        self.faults.latency_seconds = latency
        super().__init__(
            faults=self.faults,
            subscription_id=subscription_id or str(uuid.uuid4()),
            port=port,
            token_port=token_port,
            token_lifetime_seconds=token_lifetime_seconds,
            public_url=public_url,
        )
        self.journal: list[JournalEntry] = []
        self._clock = clock
        self._lock = threading.RLock()
        self.styles = Styles()
        self._resources = Resources()
        views = Views(self._resources, self.styles, clock)
        subscriptions = frozenset({self.subscription_id.lower()})
        scopes = Scopes(subscriptions, self._resources, self.styles)
        operations = Operations(clock, seconds=lro)
        self.checks = TypeChecks(published(), self._resources, operations)
        self._simulation = Simulation(
            tenant_id=self.tenant_id,
            clock=clock,
            styles=self.styles,
            resources=self._resources,
            views=views,
            operations=operations,
            monitors=MonitorRegistry(self.url, retry_after=retry_after),
            scopes=scopes,
            faults=self.faults,
            lag=Lag(clock, read_lag),
            providers=Providers(clock),
            tenants=Tenants(self.entra),
            listing=ListHandler(
                self.url, self._resources, views, scopes, page_size=page_size
            ),
            throttling=Throttling(clock) if throttle else None,
            type_checks=self.checks if strict else None,
        )
        self.providers = self._simulation.providers
        self._gateway = Gateway(self._simulation)
        self.graph = GraphServer(
            certificate=self._certificate,
            clock=clock,
            grant=lambda request: self.entra.grant(bearer_token(request)),
            tenant_id=self.tenant_id,
            knows=self._is_identity,
            note=self._note_graph,
            port=graph_port,
            page_size=page_size,
        )
        self.graph.faults.latency_seconds = latency
        self.entra.audiences = self.graph.audiences
        self._control = ArmControl(control_token, self)
        self._recorder = ExchangeRecorder(record) if record else None

    def start(self) -> None:
        """Start ARM, the token endpoint and Microsoft Graph. Returns at once."""
        super().start()
        self.graph.start()

    def close(self) -> None:
        """Stop all three. Blocks until their sockets are closed."""
        self.graph.close()
        super().close()
        if self._recorder is not None:
            self._recorder.write()
            self._recorder = None

    def settings(self) -> dict[str, str]:
        """Return an operator's environment, which also names the simulated Microsoft
        Graph.
        """
        return {**super().settings(), "ASORECONCILE_GRAPH_ENDPOINT": self.graph.url}

    def deny(self, resource: str, name: str = "Allowed resources") -> None:
        """Make a policy refuse writes of resources whose id matches a pattern."""
        with self._lock:
            self._simulation.policies.deny(resource, name)

    def add_tenant(self, tenant_id: str, subscription_id: str) -> None:
        """Add another tenant with a subscription, to refer to (H5)."""
        with self._lock:
            self._simulation.tenants.add(tenant_id, subscription_id)

    def style(self, type_: str, name: str) -> None:
        """Make a type answer in a recorded style, W1 to W26. Raises ValueError."""
        with self._lock:
            style_type(self.styles, self.faults, type_, name)

    def script(self, line: str) -> None:
        """Plan the fault that a line of `scripted` or `named_faults` describes. Raises
        ValueError.
        """
        if "=" not in line:
            plan(self.faults, line)
            return
        fault = NamedFault.parse(line)
        with self._lock:
            self.faults.named.plan(fault)
            if fault.name == "unregistered":
                namespace = fault.target.partition("/")[0]
                seconds = fault.parameters["seconds"]
                self.providers.unregister(namespace, seconds=seconds)

    def clear_faults(self) -> None:
        """End all faults, as `faults.clear` does; running operations go on."""
        with self._lock:
            self.faults.clear()

    def advance(self, seconds: float) -> None:
        """Move the server's own clock on. Raises ValueError if the clock is
        a real one.
        """
        if not isinstance(self._clock, FakeClock):
            raise ValueError("the server runs on real time")  # noqa: TRY004
        self._clock.advance(seconds)

    def machine(self, *, own: str = "", port: int = 0) -> Machine:
        """Return a machine to which the application is assigned as a managed identity.

        own: client id of the machine's system-assigned identity; "" if it has none.

        The caller starts and closes the machine.
        """
        return Machine(self.entra, identities=(self.client_id,), own=own, port=port)

    def requests(
        self, method: str = "", path: str = "", *, status: int | None = None
    ) -> list[JournalEntry]:
        """Return the journal's entries with that method and status.

        path: text that the path contains.
        """
        with self._lock:
            entries = list(self.journal)
        return matching(entries, method, path, status=status)

    def session(self) -> ArmSession:
        """Return a signed-in session for requests by hand.

        The session is safe to use from any thread. The caller closes it.
        """
        return ArmSession(
            self.url, ca_pem=self.ca_pem, token=self.entra.issue(self.client_id)
        )

    def resources(self) -> dict[str, JsonObject]:
        """Return all resources by id, as a GET would show them."""
        with self._lock:
            views = self._simulation.views
            return {r.address.id: views.body(r) for r in self._resources}

    def seed(self, id_: str, body: JsonObject) -> None:
        """Store a resource as another client would have. Raises ValueError.

        The provisioningState is taken from the body if the body has one.
        """
        address = parse(id_)
        if address is None:
            message = f"{id_} is not a resource's id"
            raise ValueError(message)
        state = str(dig(body, "properties.provisioningState") or "")
        with self._lock:
            self._gateway.provider.seed(address, body, state=state)

    def violations(
        self, id_: str, body: JsonObject, api_version: str
    ) -> list[BrokenRule]:
        """Return the rules of Azure's published types that a PUT breaks."""
        address = parse(id_)
        with self._lock:
            checks = self.checks
            return (
                list(checks.violations(address, body, api_version)) if address else []
            )

    def remove(self, id_: str) -> None:
        """Delete a resource with everything below it, as another client would."""
        with self._lock:
            self._resources.remove(id_)

    def serve(self, request: HttpRequest) -> HttpResponse:
        """Answer a request and write the journal. Control requests are not in the
        journal.
        """
        if request.path.startswith(PREFIX):
            return self._control.handle(request)
        status = 0
        began = self._clock.monotonic()
        try:
            response = super().serve(request)
            status = response.status
            with self._lock:
                if self._recorder is not None:
                    self._recorder.note(self.url, request, response)
        finally:
            self._note(request, status, began)
        return response

    def answer(self, request: HttpRequest) -> HttpResponse:
        """Return the simulator's answer to one request.

        Connection threads call this one at a time. The gateway answers 401 if there is
        no token.
        """
        grant = self.entra.grant(bearer_token(request))
        with self._lock:
            return self._gateway.handle(request, grant.client_id if grant else "")

    def _note(self, request: HttpRequest, status: int, began: float) -> None:
        """Write a request to the journal.

        status: 0 for a dropped connection.
        """
        with self._lock:
            look = self._gateway.look(request)
            at = self._clock.monotonic()
            entry = exchange(
                request,
                status=status,
                at=at,
                seconds=at - began,
                monitored=look.operation.address.id if look else "",
            )
            self.journal.append(entry)

    def _is_identity(self, object_id: str) -> bool:
        """Return whether a resource's managed identity has this object id."""
        with self._lock:
            return any(object_id in _principals(r.body) for r in self._resources)

    def _note_graph(self, request: HttpRequest, status: int) -> None:
        """Write a request to Microsoft Graph to the journal, with its group as the
        resource.
        """
        found = _GROUP.match(request.path)
        group = found[1] if found else self.graph.id_of(request.path)
        at = self._clock.monotonic()
        with self._lock:
            entry = exchange(request, status=status, at=at, monitored="")
            self.journal.append(attrs.evolve(entry, resource=group or entry.resource))


def _principals(body: JsonObject) -> set[str]:
    """Return the object ids of the identities that a resource is or has."""
    identity = body.get("identity") or {}
    assigned = dig(body, "identity.userAssignedIdentities") or {}
    holders = (body.get("properties") or {}, identity, *assigned.values())
    return {str(h.get("principalId") or "").lower() for h in holders if h} - {""}
