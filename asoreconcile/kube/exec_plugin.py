"""Runs a kubeconfig's exec credential plug-in once.

The program gets the request in an environment variable, and prints an ExecCredential.
After `seconds` it is killed with all its child processes. Rule: CL-7.
"""

import base64
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import attrs

from asoreconcile.base.jsontext import dumps, loads
from asoreconcile.base.objects import JsonObject
from asoreconcile.kube.errors import KubeCredentialError
from asoreconcile.redaction import HIDDEN, register

# Cloud plug-ins call their servers and retry: a few seconds would be too short.
_SECONDS = 60.0
_INTERACTIVE_SECONDS = 300.0  # a person may have to sign in with a browser
_VERSIONS = tuple(f"client.authentication.k8s.io/{v}" for v in ("v1", "v1beta1"))
_MAX_STDERR = 300
_CLUSTER_FIELDS = (
    "server",
    "tls-server-name",
    "insecure-skip-tls-verify",
    "proxy-url",
    "disable-compression",
)
_CONFIG = "client.authentication.k8s.io/exec"


@attrs.frozen
class Credential:
    """The credential that a program printed. expires: time of expiry; None for never.
    certificate, key: PEM, or b"".
    """

    token: str = attrs.field(default="", repr=False)
    certificate: bytes = attrs.field(default=b"", repr=False)
    key: bytes = attrs.field(default=b"", repr=False)
    expires: datetime | None = None


@attrs.frozen
class ExecPlugin:
    """A program of the kubeconfig that prints a credential. Make it with `plugin`."""

    command: Sequence[str] = attrs.field(repr=False)
    environment: Mapping[str, str] = attrs.field(repr=False)
    info: JsonObject = attrs.field(repr=False)
    hint: str = ""
    seconds: float = _SECONDS

    @property
    def name(self) -> str:
        """The name of the program in messages, without arguments, which may contain
        secrets.
        """
        return Path(self.command[0]).name

    def run(self) -> Credential:
        """Run the program once. Blocks for `seconds` at most. Raises
        KubeCredentialError.
        """
        return _credential(self.name, self._output(), str(self.info["apiVersion"]))

    def _output(self) -> bytes:
        interactive = bool(self.info["spec"]["interactive"])
        info = dumps(self.info).decode()
        try:
            process = subprocess.Popen(  # noqa: S603 - the kubeconfig's owner wants it
                self.command,
                stdin=None if interactive else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=None if interactive else subprocess.PIPE,
                env={**os.environ, **self.environment, "KUBERNETES_EXEC_INFO": info},
                # In its own process group, so that its child processes are killed too.
                start_new_session=not interactive,
            )
        except OSError as error:
            hint = f"; {self.hint}" if self.hint else ""
            raise KubeCredentialError(
                f"the credential plug-in {self.name} does not start: "
                f"{error.strerror}{hint}"
            ) from None
        try:
            output, stderr = process.communicate(timeout=self.seconds)
        except subprocess.TimeoutExpired:
            raise KubeCredentialError(
                f"the credential plug-in {self.name} did not end in {self.seconds:g} s"
            ) from None
        finally:
            _end(process, alone=not interactive)
        if process.returncode:
            raise KubeCredentialError(
                f"the credential plug-in {self.name} ended with status "
                f"{process.returncode}{self._stderr_tail(stderr)}"
            )
        return output

    def _stderr_tail(self, stderr: bytes | None) -> str:
        """Return the end of the program's stderr, with the values of its environment
        hidden.
        """
        text = (stderr or b"").decode("utf-8", "replace").strip()
        # Complete values of any length: the secret registry ignores short ones.
        for value in self.environment.values():
            text = text.replace(value, HIDDEN) if value else text
        return f": {text[-_MAX_STDERR:]}" if text else ""


def check_entry(entry: JsonObject) -> None:
    """Refuse a user's `exec` that kubectl refuses. Raises ValueError.

    entry: with all its members, as `kubeconfig_file` reads it.
    """
    version = entry["apiVersion"]
    if version not in _VERSIONS:
        raise ValueError(f"apiVersion is none of {', '.join(_VERSIONS)}")
    if not entry["command"]:
        raise ValueError("command: there is no command")
    if not all(one["name"] for one in entry["env"]):
        raise ValueError("env: a variable has no name")
    # Before v1 the mode could be left out.
    modes = ("Never", "IfAvailable", "Always", *([""] * version.endswith("beta1")))
    if entry["interactiveMode"] not in modes:
        raise ValueError("interactiveMode is none of Never, IfAvailable, Always")


def exec_plugin(
    entry: JsonObject, cluster: JsonObject, *, folder: Path, cluster_folder: Path
) -> ExecPlugin:
    """Return the program of a user's `exec`, which `check_entry` took. Raises OSError
    for the cluster's authority, ValueError without a terminal that it needs.

    cluster: cluster of the context, for programs that request it. folder,
    cluster_folder: the folders of the files that define user and cluster.
    """
    command = entry["command"]
    # With a path separator it is relative to the kubeconfig, without one it is on the
    # PATH.
    if os.sep in command:
        command = str(folder / command)
    mode = entry["interactiveMode"]
    terminal = mode != "Never" and sys.stdin is not None and sys.stdin.isatty()
    if mode == "Always" and not terminal:
        raise ValueError(f"{command} asks for a terminal to sign in at")
    spec: JsonObject = {"interactive": terminal}
    if entry["provideClusterInfo"]:
        spec["cluster"] = _cluster_info(cluster, cluster_folder)
    return ExecPlugin(
        command=(shutil.which(command) or command, *entry["args"]),
        environment={one["name"]: one["value"] for one in entry["env"]},
        info={
            "apiVersion": entry["apiVersion"],
            "kind": "ExecCredential",
            "spec": spec,
        },
        hint=entry["installHint"].strip(),
        seconds=_INTERACTIVE_SECONDS if terminal else _SECONDS,
    )


def _cluster_info(cluster: JsonObject, folder: Path) -> JsonObject:
    info = {name: cluster[name] for name in _CLUSTER_FIELDS if cluster[name]}
    authority = cluster["certificate-authority-data"]
    if file := cluster["certificate-authority"]:
        authority = (folder / file).read_bytes()
    if authority:
        info["certificate-authority-data"] = base64.b64encode(authority).decode()
    for extension in cluster["extensions"]:
        if extension["name"] == _CONFIG:
            info["config"] = extension["extension"]
    return info


def _credential(name: str, output: bytes, version: str) -> Credential:
    """Parse the output. Errors do not quote it, as it contains the credential."""
    try:
        document = loads(output)
        status = document["status"]
        printed = (document["kind"], document["apiVersion"])
        expires = status.get("expirationTimestamp")
        credential = Credential(
            token=str(status.get("token") or ""),
            certificate=str(status.get("clientCertificateData") or "").encode(),
            key=str(status.get("clientKeyData") or "").encode(),
            expires=datetime.fromisoformat(expires) if expires else None,
        )
        if credential.expires is not None and credential.expires.tzinfo is None:
            raise ValueError("a time of no zone")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise KubeCredentialError(
            f"the credential plug-in {name} printed no ExecCredential"
        ) from None
    if printed != ("ExecCredential", version):
        raise KubeCredentialError(
            f"the credential plug-in {name} printed another version than {version}"
        )
    if not credential.token and not credential.certificate:
        raise KubeCredentialError(
            f"the credential plug-in {name} printed no credential"
        )
    # With half a pair the handshake would fail later, with a misleading error.
    if bool(credential.certificate) != bool(credential.key):
        raise KubeCredentialError(
            f"the credential plug-in {name} printed a certificate without its key"
        )
    register(credential.token)
    return credential


def _end(process: "subprocess.Popen[bytes]", *, alone: bool) -> None:
    """Kill a process. alone: whether it has its own process group, which is then killed
    as a whole.
    """
    with suppress(ProcessLookupError):
        if alone:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    process.wait()
