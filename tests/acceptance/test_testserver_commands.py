"""`asoreconcile testserver`: the servers as anyone would start them."""

import json
import lzma
import socket
import ssl
import urllib.parse
import urllib.request
from contextlib import closing

import pytest
from click.testing import CliRunner
from operation import free_port

from asoreconcile.azure.cmd.subprocesses import ChildError, ChildProcess
from asoreconcile.azure.cmd.testserver import testserver as command
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.errors import ForbiddenError
from asoreconcile.kube.resources import NAMESPACES
from asoreconcile.testing.arm.named_faults import NAMED


def started(tmp_path, *arguments):
    return ChildProcess(
        ["testserver", *arguments], environment={}, log_path=tmp_path / "server.log"
    )


def test_kube_writes_a_kubeconfig_that_works(tmp_path):
    path, users = tmp_path / "kubeconfig", tmp_path / "users.csv"
    users.write_text("guest-token,guest,1\n")
    server = started(
        tmp_path,
        *("kube", "--token", "sesame", "--kubeconfig-out", str(path)),
        *("--rbac", "--token-auth-file", str(users)),
        *("--data-dir", str(tmp_path / "data"), "--fsync"),
    )
    try:
        server.wait_for_file(path, 30)
        assert path.stat().st_mode & 0o077 == 0, "the token is its owner's alone"
        assert "sesame" in path.read_text()
        with closing(KubeClient(load(str(path)), user_agent="tests")) as client:
            names = {n["metadata"]["name"] for n in client.list_page(NAMESPACES).items}
        assert "default" in names
        path.write_text(path.read_text().replace("sesame", "guest-token"))
        with (
            closing(KubeClient(load(str(path)), user_agent="tests")) as client,
            pytest.raises(ForbiddenError, match='User "guest" cannot list'),
        ):
            client.list_page(NAMESPACES)
    finally:
        assert server.end() == 0


def test_arm_writes_settings_and_its_authority(tmp_path):
    settings, ca = tmp_path / "azure.env", tmp_path / "ca.pem"
    arguments = ("--settings-out", str(settings), "--ca-out", str(ca))
    server = started(tmp_path, "arm", *arguments, "--control-token", "look")
    try:
        server.wait_for_file(settings, 30)
        assert settings.stat().st_mode & 0o077 == 0
        values = dict(line.split("=", 1) for line in settings.read_text().splitlines())
        request = urllib.request.Request(
            values["AZURE_RESOURCE_MANAGER_ENDPOINT"] + "/_control/counts",
            headers={"x-control-token": "look"},
        )
        context = ssl.create_default_context(cafile=str(ca))
        with urllib.request.urlopen(request, context=context) as answer:
            assert answer.status == 200
        assert values["AZURE_CLIENT_SECRET"]
    finally:
        assert server.end() == 0


def test_arm_is_told_what_to_do_on_the_command_line_and_later(tmp_path):
    settings, ca = tmp_path / "azure.env", tmp_path / "ca.pem"
    port = free_port()
    network = "Microsoft.Network/virtualNetworks"
    server = started(
        tmp_path,
        *("arm", "--settings-out", str(settings), "--ca-out", str(ca)),
        *("--style", f"{network}=W5", "--fault", f"PUT {network} 503:Busy"),
        *("--read-lag", "0", "--throttle", "--deny", "publicIPAddresses"),
        *("--port-token", str(port), "--page-size", "1"),
        *("--virtual-clock", "--managed-identity", "--control-token", "look"),
        *("--no-strict", "--record", str(tmp_path / "exchanges")),
    )
    try:
        server.wait_for_file(settings, 30)
        values = dict(line.split("=", 1) for line in settings.read_text().splitlines())
        assert values["AZURE_POD_IDENTITY_AUTHORITY_HOST"].startswith("http://127.")
        request = urllib.request.Request(
            values["AZURE_RESOURCE_MANAGER_ENDPOINT"] + "/_control/clock",
            headers={"x-control-token": "look"},
            data=b'{"advanceSeconds": 60}',
        )
        context = ssl.create_default_context(cafile=str(ca))
        with urllib.request.urlopen(request, context=context) as answer:
            assert answer.status == 200
        assert urllib.parse.urlsplit(values["AZURE_AUTHORITY_HOST"]).port == port
        token = ask(
            f"{values['AZURE_AUTHORITY_HOST']}/{values['AZURE_TENANT_ID']}/oauth2/v2.0/token",
            context,
            data=urllib.parse.urlencode(
                {
                    "grant_type": "client_credentials",
                    "client_id": values["AZURE_CLIENT_ID"],
                    "client_secret": values["AZURE_CLIENT_SECRET"],
                    "scope": "https://management.azure.com/.default",
                }
            ).encode(),
        )["access_token"]
        arm = values["AZURE_RESOURCE_MANAGER_ENDPOINT"]
        groups = f"{arm}/subscriptions/{values['AZURE_SUBSCRIPTION_ID']}/resourcegroups"
        version = "?api-version=2001-01-01"
        for name in ("one", "two"):
            body = b'{"location": "westeurope"}'
            ask(f"{groups}/{name}{version}", context, token, method="PUT", data=body)
        page = ask(f"{groups}{version}", context, token)
        assert len(page["value"]) == 1
        assert page["nextLink"]
    finally:
        assert server.end() == 0
    recorded = lzma.decompress((tmp_path / "exchanges").read_bytes()).decode()
    assert "resourcegroups/two" in recorded
    assert values["AZURE_CLIENT_SECRET"] not in recorded


def ask(url, context, token="", **options):
    """Ask the simulator or its token endpoint; the JSON of the answer."""
    headers = {"Content-Type": "application/json"} if token else {}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(url, headers=headers, **options)
    with urllib.request.urlopen(request, context=context, timeout=30) as answer:
        return json.load(answer)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--style", "Microsoft.Network/virtualNetworks=W99", "W26"),
        ("--style", "W5", "no resource type"),
        ("--fault", "PUT everything", "VERB TARGET WHAT"),
        ("--fault", "sloth=*", "none of"),
    ],
)
def test_styles_and_faults_that_are_none_exit_2(option, value, said):
    done = CliRunner().invoke(command, ["arm", option, value])
    assert done.exit_code == 2
    assert said in done.output


def test_arms_help_names_every_style_and_fault():
    text = CliRunner().invoke(command, ["arm", "--help"]).output
    assert all(f"  W{number} " in text for number in range(1, 27))
    for word in ("reset", "lost", "stall", "stuck", "garbled", "--throttle", *NAMED):
        assert word in text


def test_kubes_help_names_every_fault():
    done = CliRunner().invoke(command, ["kube", "--help"])
    assert done.exit_code == 0
    for word in ("conflict", "reset", "lost", "stall", "drip[:BYTES]", "cut[:BYTES]"):
        assert word in done.output


def test_a_port_in_use_is_said():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = CliRunner().invoke(command, ["kube", "--port", str(port)])
    assert done.exit_code == 1
    assert f"port {port}" in done.output


@pytest.mark.parametrize(
    "arguments",
    [["kube", "--port", "x"], ["kube", "--service", "x"], ["arm", "--lro", "-1"]],
)
def test_bad_usage_exits_2(arguments):
    assert CliRunner().invoke(command, arguments).exit_code == 2


def test_a_child_that_ends_says_why(tmp_path):
    server = started(tmp_path, "kube", "--port", "70000")
    with pytest.raises(ChildError, match="70000"):
        server.wait_for_file(tmp_path / "never", 30)
    server.end()
