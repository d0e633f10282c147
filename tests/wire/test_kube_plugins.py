"""Credentials of a kubeconfig that programs make: `exec`, as companies write it."""

import base64
import shlex
import threading
from contextlib import closing
from datetime import UTC, timedelta
from pathlib import Path

import attrs
import orjson
import pytest
import yaml
from applications import until
from test_kube_certificates import asking_for_certificates, client_pair

from asoreconcile.base.call_limit import limited
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.cluster import KubeConfigError
from asoreconcile.kube.config import load
from asoreconcile.kube.errors import (
    ForbiddenError,
    KubeCredentialError,
    TransportError,
    UnauthorizedError,
)
from asoreconcile.kube.exec_authenticator import ExecAuthenticator
from asoreconcile.kube.exec_plugin import Credential, ExecPlugin
from asoreconcile.kube.resources import CONFIG_MAPS, NAMESPACES
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.http import HttpResponse, HttpServer
from asoreconcile.testing.kube import KubeServer

VERSION = "client.authentication.k8s.io/v1"


@pytest.fixture
def clock():
    return FakeClock()


class Program:
    """A plug-in of a test: it prints what the test says, and counts its runs."""

    def __init__(self, folder):
        self.folder = folder
        self.path = folder / "plugin"
        self.will("cat $DIR/printed")

    def will(self, *lines):
        """Be a shell script of these lines."""
        head = [
            "#!/bin/sh",
            f"DIR={shlex.quote(str(self.folder))}",
            "echo >> $DIR/runs",
        ]
        self.path.write_text("\n".join([*head, *lines, ""]))
        self.path.chmod(0o700)

    def prints(self, *, version=VERSION, **status):
        document = {"kind": "ExecCredential", "apiVersion": version, "status": status}
        (self.folder / "printed").write_bytes(orjson.dumps(document))

    @property
    def runs(self):
        return len((self.folder / "runs").read_text())


@pytest.fixture
def program(tmp_path):
    return Program(tmp_path)


@pytest.fixture(scope="module")
def server():
    with KubeServer() as made:
        yield made


def kubeconfig(path, url, *, user, authority=None, **cluster):
    """A file with one cluster and one user; its path."""
    if authority is not None:
        cluster["certificate-authority-data"] = base64.b64encode(authority).decode()
    context = {"cluster": "c", "user": "u"}
    document = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": context}],
        "clusters": [{"name": "c", "cluster": {"server": url, **cluster}}],
        "users": [{"name": "u", "user": user}],
    }
    file = path / "kubeconfig"
    file.write_text(yaml.safe_dump(document))
    return str(file)


def exec_user(program, **entry):
    return {
        "exec": {
            "apiVersion": VERSION,
            "command": str(program.path),
            "interactiveMode": "IfAvailable",
            **entry,
        },
    }


@pytest.fixture
def connect(server, program, tmp_path, clock):
    """A client of the server by a kubeconfig with the program in it."""
    made = []

    def begin(**entry):
        path = kubeconfig(
            tmp_path,
            server.url,
            user=exec_user(program, **entry),
            authority=server.ca_pem,
        )
        client = KubeClient(load(path, clock=clock), user_agent="tests")
        made.append(client)
        return client

    yield begin
    for client in made:
        client.close()


def test_cl9_a_refused_token_is_made_anew_at_once(connect, program, clock):
    program.prints(token="revoked")
    client = connect()
    clock.advance(60)
    program.prints(token="revoked")
    with pytest.raises(UnauthorizedError):
        client.list_page(NAMESPACES)
    assert program.runs == 2


def test_cl9_a_renewed_token_serves_the_request_that_was_refused(
    connect, program, clock, server
):
    program.prints(token="revoked")
    client = connect()
    clock.advance(60)
    program.prints(token=server.token)
    assert client.list_page(NAMESPACES).items
    assert client.list_page(NAMESPACES).items
    assert program.runs == 2


def test_cl9_who_is_refused_for_good_runs_the_program_no_more_than_it_may(
    connect, program, clock
):
    program.prints(token="wrong")
    client = connect()
    clock.advance(60)
    for _ in range(5):
        with pytest.raises(UnauthorizedError):
            client.list_page(NAMESPACES)
    assert program.runs == 2


def stamp(moment):
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_cl9_a_token_is_renewed_before_it_expires(connect, program, clock, server):
    program.prints(
        token=server.token, expirationTimestamp=stamp(clock.now() + timedelta(hours=1))
    )
    client = connect()
    clock.advance(3600 - 121)
    client.list_page(NAMESPACES)
    assert program.runs == 1
    clock.advance(2)
    client.list_page(NAMESPACES)
    until(lambda: program.runs == 2)


class Runs:
    """A plug-in within the process, stopped where the test wants it."""

    def __init__(self, clock, *, seconds):
        self.clock, self.seconds = clock, seconds
        self.count, self.fails = 0, False
        self.go = threading.Event()
        self.go.set()
        self.begun = threading.Event()

    def __call__(self):
        self.count += 1
        number = self.count
        self.begun.set()
        assert self.go.wait(20)
        if self.fails:
            raise KubeCredentialError("the plug-in failed")
        expires = self.clock.now() + timedelta(seconds=self.seconds)
        return Credential(token=f"t{number}", expires=expires)


@pytest.fixture
def runs(clock):
    made = Runs(clock, seconds=600)
    yield made
    made.go.set()


def test_cl9_a_good_credential_waits_for_no_plugin(runs, clock):
    """The leader's lease is renewed while the program hangs."""
    credential = ExecAuthenticator(runs, clock=clock)
    runs.go.clear()
    clock.advance(500)
    for _ in range(3):
        assert credential.authorization() == "Bearer t1"
    assert runs.begun.wait(10)
    refused = threading.Thread(target=credential.renew)
    refused.start()
    assert credential.authorization() == "Bearer t1"
    runs.go.set()
    refused.join(20)
    assert credential.authorization() == "Bearer t2"
    assert runs.count == 2


def test_cl9_all_who_have_none_share_one_run(runs, clock):
    credential = ExecAuthenticator(runs, clock=clock)
    runs.begun.clear()
    runs.go.clear()
    clock.advance(601)
    got = []
    threads = [
        threading.Thread(target=lambda: got.append(credential.authorization()))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    assert runs.begun.wait(10)
    runs.go.set()
    for thread in threads:
        thread.join(20)
    assert got == ["Bearer t2"] * 8
    assert runs.count == 2


def test_cl9_a_call_waits_for_a_plugin_no_longer_than_its_own_limit(runs, clock):
    credential = ExecAuthenticator(runs, clock=clock)
    runs.go.clear()
    clock.advance(601)
    late = pytest.raises(KubeCredentialError, match=r"did not end in 0\.0\d* s")
    with limited(0.05, is_read=True), late:
        credential.authorization()


def test_cl9_a_failure_is_told_and_tried_again_later(runs, clock):
    credential = ExecAuthenticator(runs, clock=clock)
    runs.fails = True
    clock.advance(601)
    for _ in range(3):
        with pytest.raises(KubeCredentialError, match="failed"):
            credential.authorization()
    assert runs.count == 2
    runs.fails = False
    clock.advance(6)
    assert credential.authorization() == "Bearer t3"


def hangs(program, seconds):
    info = {
        "apiVersion": VERSION,
        "kind": "ExecCredential",
        "spec": {"interactive": False},
    }
    return ExecPlugin(
        [str(program.path)], {"KEY": "very-secret"}, info, seconds=seconds
    )


def test_a_plugin_that_hangs_is_ended_with_what_it_started(program, tmp_path):
    program.will("sleep 1000 &", "echo $! > $DIR/child", "wait")
    with pytest.raises(KubeCredentialError, match=r"plugin did not end in 0\.5 s"):
        hangs(program, 0.5).run()
    child = (tmp_path / "child").read_text().strip()
    until(lambda: state_of(child) in ("", "Z"))


def state_of(pid):
    """Of a process, as the kernel says; "" when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["echo no $KEY >&2", "exit 3"], "status 3: no \\*\\*\\*$"),
        (['echo \'{"token": "canary"}\''], "printed no ExecCredential$"),
        (["echo canary"], "printed no ExecCredential$"),
        (["cat $DIR/printed"], "another version"),
    ],
)
def test_what_a_plugin_gets_wrong_is_told_without_secrets(program, lines, reason):
    program.prints(version="client.authentication.k8s.io/v1beta1", token="canary")
    program.will(*lines)
    with pytest.raises(KubeCredentialError, match=reason) as caught:
        hangs(program, 20).run()
    assert "canary" not in str(caught.value)


def test_a_plugin_that_is_not_there_is_named_with_its_hint(connect, program):
    program.path.unlink()
    with pytest.raises(KubeConfigError, match=r"does not start.*; get it from us"):
        connect(installHint="get it from us")


def test_a_plugin_is_told_what_it_asks_for(connect, program, server, tmp_path):
    program.will(
        'printf %s "$KUBERNETES_EXEC_INFO $1 $WHO" > $DIR/told', "cat $DIR/printed"
    )
    program.prints(token=server.token)
    environment = [{"name": "WHO", "value": "me"}]
    client = connect(args=["get-token"], env=environment, provideClusterInfo=True)
    assert client.list_page(NAMESPACES).items
    told, argument, who = (tmp_path / "told").read_text().rsplit(" ", 2)
    assert (argument, who) == ("get-token", "me")
    spec = orjson.loads(told)["spec"]
    assert spec["interactive"] is False
    assert spec["cluster"]["server"] == server.url
    assert (
        base64.b64decode(spec["cluster"]["certificate-authority-data"]) == server.ca_pem
    )


def test_cl9_a_renewed_client_certificate_is_shown(tmp_path, program, clock):
    """By the next connection, before the one that it has expires."""
    first, second = client_pair("first"), client_pair("second")
    ends = clock.now() + timedelta(hours=1)
    with asking_for_certificates(tmp_path, first[0], second[0]) as url:
        program.prints(**printed(first), expirationTimestamp=stamp(ends))
        path = kubeconfig(
            tmp_path,
            url,
            user=exec_user(program),
            authority=(tmp_path / "ca.pem").read_bytes(),
        )
        config = load(path, clock=clock)
        with closing(KubeClient(config, user_agent="tests")) as client:
            transport = client._exchange._transport
            seen = [transport.send("GET", "/", headers={}).body]
            program.prints(**printed(second))
            clock.advance(3601)
            seen.append(transport.send("GET", "/", headers={}).body)
    assert seen == [b"first", b"second"]
    assert config.generation() == 2


def printed(pair):
    certificate, key = pair
    return {
        "clientCertificateData": certificate.decode(),
        "clientKeyData": key.decode(),
    }


def test_cl9_connections_of_an_old_certificate_are_used_no_more(tmp_path):
    """The server sees the certificate that a connection was opened with."""
    number = [0]
    with HttpServer(lambda _: HttpResponse(200, b"{}")) as server:
        path = kubeconfig(tmp_path, server.url, user={})
        config = attrs.evolve(load(path), generation=lambda: number[0])
        with closing(KubeClient(config, user_agent="tests")) as client:
            pool = client._exchange._transport._pool
            ports = []
            for generation in (0, 0, 1, 1):
                number[0] = generation
                client.read("/")
                ((one, _),) = pool._idle
                ports.append(one._socket.getsockname()[1])
    assert ports[0] == ports[1]
    assert ports[2] == ports[3] != ports[0]


def test_whom_to_act_as_is_sent(tmp_path):
    seen = []

    def handle(request):
        seen.append(request.headers)
        return HttpResponse(200, b"{}")

    user = {
        "as": "jane",
        "as-uid": "42",
        "as-groups": ["a", "b"],
        "as-user-extra": {"example.com/Scope": ["dev"]},
        "token": "t",
    }
    with HttpServer(handle) as server:
        path = kubeconfig(tmp_path, server.url, user=user)
        with closing(KubeClient(load(path), user_agent="tests")) as client:
            client.read("/version")
    headers = {n: v for n, v in seen[0].items() if n.startswith("impersonate")}
    assert headers == {
        "impersonate-user": "jane",
        "impersonate-uid": "42",
        "impersonate-group": "a,b",
        "impersonate-extra-example.com%2fscope": "dev",
    }


def test_cl7_who_acts_as_another_has_the_others_rights(tmp_path):
    with KubeServer(rbac=True) as server:
        document = server.kubeconfig()
        document["users"][0]["user"]["as"] = "nobody-special"
        path = tmp_path / "kubeconfig"
        path.write_text(yaml.safe_dump(document))
        with (
            closing(KubeClient(load(str(path)), user_agent="tests")) as client,
            pytest.raises(ForbiddenError, match='"nobody-special" cannot list'),
        ):
            client.list_page(CONFIG_MAPS)


@pytest.mark.parametrize("field", ["as-groups", "as-uid", "as-user-extra"])
def test_half_of_whom_to_act_as_is_refused(tmp_path, field):
    value = {"as-groups": ["a"], "as-uid": "1", "as-user-extra": {"a": ["b"]}}[field]
    path = kubeconfig(tmp_path, "http://127.0.0.1:1", user={field: value})
    with pytest.raises(KubeConfigError, match="without as"):
        load(path)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_is_told_who_asks(tmp_path, scheme):
    """And only the proxy is: it goes into the request for a tunnel, not through it."""
    seen = []

    def handle(request):
        seen.append((request.method, dict(request.headers)))
        return HttpResponse(200 if scheme == "http" else 407, b"{}")

    with HttpServer(handle) as proxy:
        url = proxy.url.replace("http://", "http://me:p%40ss@")
        path = kubeconfig(
            tmp_path,
            f"{scheme}://cluster.example",
            user={"token": "t"},
            **{"proxy-url": url},
        )
        config = load(path)
        with closing(KubeClient(config, user_agent="tests", max_retries=0)) as client:
            if scheme == "http":
                client.read("/version")
            else:
                with pytest.raises(TransportError, match="407") as caught:
                    client.read("/version")
                assert "p%40ss" not in str(caught.value)
    method, headers = seen[0]
    assert method == ("GET" if scheme == "http" else "CONNECT")
    expected = base64.b64encode(b"me:p@ss").decode()
    assert headers["proxy-authorization"] == f"Basic {expected}"
    assert "authorization" not in headers  # no credential goes in the clear


def test_a_proxy_url_that_is_none_is_told_without_its_password(tmp_path):
    path = kubeconfig(
        tmp_path, "https://c", user={}, **{"proxy-url": "http://me:canary@[::1"}
    )
    with pytest.raises(KubeConfigError) as caught:
        KubeClient(load(path), user_agent="tests")
    assert "canary" not in str(caught.value)
