"""Run the system on one machine: API server, ARM simulator and manager as processes.

Used by `asoreconcile sandbox`, end-to-end tests and measurements.
"""

import secrets
import ssl
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

import attrs

from asoreconcile.azure.cmd.sharedoptions import CONTROL_TOKEN
from asoreconcile.azure.cmd.subprocesses import ChildProcess
from asoreconcile.base.objects import JsonObject

# Imported while the servers start, not before.
if TYPE_CHECKING:
    from urllib3 import PoolManager

    from asoreconcile.kube.client import KubeClient
    from asoreconcile.kube.cluster import ClusterConfig

_SERVERS = 2  # the first children: the API server and the simulator
_START_SECONDS = 30.0
_NAMESPACE = "azureserviceoperator-system"


@attrs.frozen
class AzureOptions:
    """The behaviour of the simulated Azure.

    latency, lro: seconds.
    throttle: whether to apply Azure's published token buckets.
    record: archive to write the exchanges with Azure to; "" writes nothing.
    """

    latency: float = 0.0
    lro: float = 0.0
    retry_after: int | None = None
    throttle: bool = False
    record: str = ""


class LocalCluster:
    """A folder, two servers and, once started, a manager. Use as a context manager."""

    client: "KubeClient"
    settings: dict[str, str]

    def __init__(self, azure: AzureOptions | None = None) -> None:
        self._azure_options = azure or AzureOptions()
        self._temporary = tempfile.TemporaryDirectory(prefix="asoreconcile-")
        self.folder = Path(self._temporary.name)
        self.kubeconfig = self.folder / "kubeconfig"
        self._settings_file = self.folder / "azure.env"
        self._ca_file = self.folder / "azure-ca.pem"
        self._children: list[ChildProcess] = []
        # Any process of this machine reaches the ports; faults and journals are for us
        # alone.
        self._control_token = secrets.token_urlsafe(24)
        self._pools: dict[str, PoolManager] = {}

    def launch(self) -> None:
        """Start the servers without waiting for them; `close` ends them."""
        options = self._azure_options
        retry_after = options.retry_after
        # Not an argument: any user of the machine can read those.
        control = {CONTROL_TOKEN: self._control_token}
        self._start(
            *("testserver", "kube", "--kubeconfig-out", str(self.kubeconfig)),
            environment=control,
        )
        self._start(
            *("testserver", "arm"),
            *("--settings-out", str(self._settings_file)),
            *("--ca-out", str(self._ca_file)),
            *("--latency", str(options.latency), "--lro", str(options.lro)),
            *(() if retry_after is None else ("--retry-after", str(retry_after))),
            *(("--throttle",) if options.throttle else ()),
            *(("--record", options.record) if options.record else ()),
            *("--remove", str(self.folder)),
            environment=control,
        )

    def __enter__(self) -> Self:
        """Wait for the servers. Raises ChildError."""
        try:
            if not self._children:
                self.launch()
            self._connect()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start_manager(
        self, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> ChildProcess:
        """Start a manager for both servers without waiting for it."""
        from asoreconcile.kube.errors import AlreadyExistsError
        from asoreconcile.kube.resources import NAMESPACES

        # A pod has its namespace; the record key is kept there.
        with suppress(AlreadyExistsError):
            self.client.create(NAMESPACES, {"metadata": {"name": _NAMESPACE}})
        return self._start(
            "manager",
            *arguments,
            environment={
                **self.settings,
                "KUBECONFIG": str(self.kubeconfig),
                "REQUESTS_CA_BUNDLE": str(self._ca_file),
                "POD_NAMESPACE": _NAMESPACE,
                **(environment or {}),
            },
        )

    def check(self) -> None:
        """Raise ChildError if any process has ended."""
        for child in self._children:
            child.check()

    def azure(self, what: str) -> JsonObject:
        """Return a control answer of the simulator: `counts`, `journal`,
        `resources`.
        """
        return self._asked(self._azure_url, what)

    def disturb_azure(self, *faults: str) -> None:
        """End the simulator's faults, and begin those that lines describe."""
        self._asked(self._azure_url, "clear", {})
        for fault in faults:
            self._asked(self._azure_url, "fault", {"script": fault})

    def kube(self, what: str) -> JsonObject:
        """Return a control answer of the API server: `counts`, `journal`, `objects`."""
        return self._asked(self._kube_url, what)

    def close(self) -> None:
        """End the managers, then both servers at once, and remove the folder."""
        # A manager's last writes need the servers: they end after all managers have.
        servers, managers = self._children[:_SERVERS], self._children[_SERVERS:]
        for child in reversed(managers):
            child.end()
        for child in servers:
            child.ask_to_end()
        for child in servers:
            child.end()
        self._children.clear()
        if hasattr(self, "client"):
            self.client.close()
        for pool in self._pools.values():
            pool.clear()
        self._temporary.cleanup()

    def _connect(self) -> None:
        import urllib3

        from asoreconcile.kube.client import KubeClient
        from asoreconcile.kube.config import load

        kube, arm = self._children
        arm.wait_for_file(self._settings_file, _START_SECONDS)
        kube.wait_for_file(self.kubeconfig, _START_SECONDS)
        lines = self._settings_file.read_text().splitlines()
        self.settings = dict(line.split("=", 1) for line in lines)
        config = load(str(self.kubeconfig))
        self.client = KubeClient(config, user_agent="sandbox")
        # Its own authority alone: nothing of the machine's trust is changed for a
        # sandbox.
        trusted = ssl.create_default_context(cafile=str(self._ca_file))
        endpoint = self.settings["AZURE_RESOURCE_MANAGER_ENDPOINT"]
        self._pools = {
            endpoint: urllib3.PoolManager(ssl_context=trusted),
            config.url: urllib3.PoolManager(ca_cert_data=_authority_of(config)),
        }
        self._azure_url, self._kube_url = self._pools

    def _asked(self, url: str, what: str, wish: JsonObject | None = None) -> JsonObject:
        """Return the answer of a control endpoint. wish: document to POST; if None, the
        request is a GET.
        """
        from asoreconcile.base import jsontext

        answer = self._pools[url].request(
            "GET" if wish is None else "POST",
            f"{url}/_control/{what}",
            body=None if wish is None else jsontext.dumps(wish),
            headers={"x-control-token": self._control_token},
        )
        found: JsonObject = jsontext.loads(answer.data)
        return found

    def _start(
        self, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> ChildProcess:
        log_path = self.folder / f"{arguments[0]}-{len(self._children)}.log"
        child = ChildProcess(
            arguments, environment=environment or {}, log_path=log_path
        )
        self._children.append(child)
        return child


def _authority_of(config: "ClusterConfig") -> str:
    """Return the PEM in the cluster's kubeconfig."""
    authorities = config.trust().authorities if config.trust else None
    if not isinstance(authorities, bytes):
        raise TypeError("the kubeconfig has no authority in itself")
    return authorities.decode()
