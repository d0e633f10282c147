"""The system on one machine: API server, ARM simulator and manager as processes.

What `asoreconcile sandbox` shows, and what end-to-end tests and measurements run on.
"""

import secrets
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import attrs
import urllib3

from asoreconcile import jsontext
from asoreconcile.cmd.subprocesses import ChildProcess
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.objects import JsonObject

_START_SECONDS = 30.0
_NAMESPACE = "azureserviceoperator-system"


@attrs.frozen
class AzureOptions:
    """How the simulated Azure behaves. latency, lro: seconds."""

    latency: float = 0.0
    lro: float = 0.0
    retry_after: int | None = None


class LocalCluster:
    """A folder, two servers and, once started, a manager. Use as a context manager."""

    def __init__(self, azure: AzureOptions | None = None) -> None:
        self._azure_options = azure or AzureOptions()
        self._temporary = tempfile.TemporaryDirectory(prefix="asoreconcile-")
        self.folder = Path(self._temporary.name)
        self.kubeconfig = self.folder / "kubeconfig"
        self._children: list[ChildProcess] = []
        self._control_token = secrets.token_urlsafe(24)

    def __enter__(self) -> Self:
        try:
            self._start_servers()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start_manager(
        self, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> ChildProcess:
        """Start a manager against both servers; it is not waited for."""
        return self._start(
            "manager",
            *arguments,
            environment={
                **self.settings,
                "KUBECONFIG": str(self.kubeconfig),
                "REQUESTS_CA_BUNDLE": str(self.folder / "azure-ca.pem"),
                "POD_NAMESPACE": _NAMESPACE,
                **(environment or {}),
            },
        )

    def check(self) -> None:
        """Raises ChildError if any process has ended."""
        for child in self._children:
            child.check()

    def azure(self, what: str) -> JsonObject:
        """A control answer of the simulator: `counts`, `journal`, `resources`."""
        answer = self._pool.request(
            "GET",
            f"{self.settings['AZURE_RESOURCE_MANAGER_ENDPOINT']}/_control/{what}",
            headers={"x-control-token": self._control_token},
        )
        found: JsonObject = jsontext.loads(answer.data)
        return found

    def close(self) -> None:
        """End the processes, the youngest first, and remove the folder."""
        for child in reversed(self._children):
            child.end()
        self._children.clear()
        if hasattr(self, "client"):
            self.client.close()
            self._pool.clear()
        self._temporary.cleanup()

    def _start_servers(self) -> None:
        settings_file = self.folder / "azure.env"
        ca_file = self.folder / "azure-ca.pem"
        options = self._azure_options
        kube = self._start(
            "testserver", "kube", "--kubeconfig-out", str(self.kubeconfig)
        )
        arm = self._start(
            "testserver",
            "arm",
            *("--settings-out", str(settings_file), "--ca-out", str(ca_file)),
            *("--latency", str(options.latency), "--lro", str(options.lro)),
            *("--control-token", self._control_token),
            *_given("--retry-after", options.retry_after),
        )
        arm.wait_for_file(settings_file, _START_SECONDS)
        kube.wait_for_file(self.kubeconfig, _START_SECONDS)
        lines = settings_file.read_text().splitlines()
        self.settings = dict(line.split("=", 1) for line in lines)
        self.client = KubeClient(load(str(self.kubeconfig)), user_agent="sandbox")
        context = ssl.create_default_context(cafile=str(ca_file))
        self._pool = urllib3.PoolManager(ssl_context=context)

    def _start(
        self, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> ChildProcess:
        log_path = self.folder / f"{arguments[0]}-{len(self._children)}.log"
        child = ChildProcess(
            arguments, environment=environment or {}, log_path=log_path
        )
        self._children.append(child)
        return child


def _given(option: str, value: Any) -> tuple[str, ...]:
    return () if value is None else (option, str(value))
