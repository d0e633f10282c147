"""Finding the cluster: order of places, service accounts, rotation, other people's
environment variables.
"""

import os
import subprocess
import sys
import traceback

import pytest
import yaml

from asoreconcile.base import extras
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.cluster import KubeConfigError
from asoreconcile.kube.config import load
from asoreconcile.kube.errors import TransportError, UnauthorizedError
from asoreconcile.kube.resources import CONFIG_MAPS, NAMESPACES
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.throwaway_certificates import certificate_authority

VARIABLES = (
    "KUBECONFIG",
    "KUBERNETES_SERVICE_HOST",
    "KUBERNETES_SERVICE_PORT",
    "HTTPS_PROXY",
    "https_proxy",
)


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    """No cluster but the test's: home and environment are empty."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()


@pytest.fixture
def account(server, tmp_path, monkeypatch):
    """A pod's service account folder, and the variables that go with it."""
    folder = tmp_path / "serviceaccount"
    folder.mkdir()
    (folder / "token").write_text(f"{server.token}\n")
    (folder / "ca.crt").write_bytes(server.ca_pem)
    (folder / "namespace").write_text("operators")
    port = server.url.rpartition(":")[2]
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    return folder


def written(server, path, **changes):
    """A kubeconfig whose context, cluster or user is changed; its path.

    None takes a field away.
    """
    config = server.kubeconfig()
    for part, values in changes.items():
        entry = {**config[f"{part}s"][0][part], **values}
        stated = {name: value for name, value in entry.items() if value is not None}
        config[f"{part}s"][0][part] = stated
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(config))
    return str(path)


def names(config):
    """The namespaces that a configuration gets to see."""
    client = KubeClient(config, user_agent="tests")
    try:
        page = client.list_page(NAMESPACES)
    finally:
        client.close()
    return [obj["metadata"]["name"] for obj in page.items]


def test_cl7_argument_beats_all(server, account, tmp_path, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", written(server, tmp_path / "variable"))
    path = written(server, tmp_path / "argument", context={"namespace": "asked"})
    assert load(path, service_account=account).namespace == "asked"


def test_cl7_variable_beats_the_service_account(server, account, tmp_path, monkeypatch):
    path = written(server, tmp_path / "variable", context={"namespace": "told"})
    monkeypatch.setenv("KUBECONFIG", path)
    assert load(service_account=account).namespace == "told"


def test_cl7_service_account_beats_the_home_folder(server, account, tmp_path):
    written(server, tmp_path / "home/.kube/config", context={"namespace": "home"})
    config = load(service_account=account)
    assert config.namespace == "operators"
    assert "default" in names(config)


def test_cl7_home_folder_is_the_last_place(server, tmp_path):
    written(server, tmp_path / "home/.kube/config", context={"namespace": "home"})
    config = load(service_account=tmp_path / "none")
    assert config.namespace == "home"
    assert "default" in names(config)


def test_cl7_pod_without_a_service_account_may_have_a_kubeconfig(
    server, account, tmp_path
):
    written(server, tmp_path / "home/.kube/config", context={"namespace": "home"})
    assert load(service_account=tmp_path / "none").namespace == "home"


def test_cl7_empty_variable_counts_as_unset(server, account, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", "")
    assert load(service_account=account).namespace == "operators"


def test_cl7_several_files_are_one_configuration(server, tmp_path, monkeypatch):
    whole = server.kubeconfig()
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text(yaml.safe_dump({**whole, "users": []}))
    second.write_text(
        yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "users": whole["users"]})
    )
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join([str(first), str(second)]))
    assert "default" in names(load())


@pytest.mark.parametrize(
    "content",
    ["", "hello", "[1]", "{: x", "contexts: {}", "clusters: 1\nusers: 2", "\x00"],
)
def test_file_that_is_no_kubeconfig_is_named_in_the_error(tmp_path, content):
    path = tmp_path / "broken"
    path.write_text(content)
    with pytest.raises(KubeConfigError, match=str(path)):
        load(str(path))


def test_errors_about_a_kubeconfig_do_not_quote_its_secrets(server, tmp_path):
    config = server.kubeconfig()
    config["users"][0]["user"] = {"token": [server.token], "password": server.token}
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    with pytest.raises(KubeConfigError, match="token must be text") as refused:
        load(str(path))
    assert server.token not in "".join(traceback.format_exception(refused.value))


def test_nothing_anywhere_says_what_to_do(tmp_path):
    with pytest.raises(KubeConfigError, match="set KUBECONFIG"):
        load(service_account=tmp_path / "none")


@pytest.mark.parametrize("name", ["token", "ca.crt"])
@pytest.mark.parametrize("content", [None, ""])
def test_broken_service_account_names_the_matter(account, name, content):
    if content is None:
        (account / name).unlink()
    else:
        (account / name).write_text(content)
    with pytest.raises(KubeConfigError, match="service account"):
        load(service_account=account)


def test_a_namespace_that_cannot_be_read_is_not_taken_for_the_default_one(account):
    """A lease in another namespace would let two lead."""
    (account / "namespace").unlink()
    assert load(service_account=account).namespace == "default"
    (account / "namespace").mkdir()
    with pytest.raises(KubeConfigError, match="service account"):
        load(service_account=account)


def test_service_account_needs_both_variables(account, monkeypatch):
    monkeypatch.delenv("KUBERNETES_SERVICE_PORT")
    with pytest.raises(KubeConfigError, match="_PORT is not set"):
        load(service_account=account)


def test_service_account_of_an_ipv6_cluster(account, monkeypatch):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    assert load(service_account=account).url == "https://[fd00::1]:443"


def test_configurations_do_not_show_their_secrets(server, account, tmp_path):
    kubeconfig = written(server, tmp_path / "kubeconfig")
    for config in (load(kubeconfig), load(service_account=account)):
        assert server.token not in repr(config)


def test_memory_service_account_does_not_load_the_kubernetes_package(account):
    """15 MB that a pod need not hold."""
    script = (
        "import sys; from pathlib import Path\n"
        "from asoreconcile.kube.config import load\n"
        f"load(service_account=Path({str(account)!r}))\n"
        "print(sorted({'kubernetes', 'pydantic', 'oauthlib', 'requests', 'yaml'}"
        " & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize("place", ["service account", "tokenFile"])
def test_token_file_that_rotates_is_read_again_within_a_minute(
    server, account, tmp_path, place
):
    clock = FakeClock()
    if place == "tokenFile":
        path = written(
            server, account / "kubeconfig", user={"tokenFile": "token", "token": None}
        )
        config = load(path, clock=clock)
    else:
        config = load(service_account=account, clock=clock)
    (account / "token").write_text("second")
    assert config.authorization() == f"Bearer {server.token}"
    clock.advance(60.0)
    assert config.authorization() == "Bearer second"


def test_refused_token_is_read_anew_at_once(server, account):
    """The kubelet has rotated it, and revoked the one we hold."""
    client = KubeClient(load(service_account=account), user_agent="tests")
    assert client.list_page(NAMESPACES).items
    server.token = "second"
    (account / "token").write_text("second")
    assert client.create(CONFIG_MAPS, config_map())["metadata"]["uid"]
    client.close()
    assert [one.status for one in server.journal] == [200, 401, 201]


def test_refused_token_is_read_anew_for_a_watch_too(server, account):
    client = KubeClient(load(service_account=account), user_agent="tests")
    server.token = "second"
    (account / "token").write_text("second")
    client.watch(CONFIG_MAPS, timeout_seconds=9).close()
    client.close()
    assert [one.status for one in server.journal] == [401, 200]


def test_refused_token_that_is_still_the_same_is_refused(server, account):
    client = KubeClient(load(service_account=account), user_agent="tests")
    server.token = "second"
    with pytest.raises(UnauthorizedError):
        client.list_page(NAMESPACES)
    with pytest.raises(UnauthorizedError):
        client.watch(NAMESPACES, timeout_seconds=9)
    client.close()
    assert [one.status for one in server.journal] == [401, 401]


def test_token_file_that_cannot_be_read_keeps_the_last_token(server, account):
    clock = FakeClock()
    config = load(service_account=account, clock=clock)
    (account / "token").unlink()
    clock.advance(61.0)
    assert config.authorization() == f"Bearer {server.token}"
    assert config.renew() is False


def config_map():
    return {"metadata": {"name": "one", "namespace": "default"}, "data": {}}


@pytest.mark.parametrize("place", ["service account", "kubeconfig"])
def test_environment_of_the_operator_is_for_azure_alone(
    server, account, tmp_path, monkeypatch, place
):
    foreign = tmp_path / "foreign.pem"
    foreign.write_bytes(certificate_authority().pem)
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.setenv(name, str(foreign))
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    if place == "kubeconfig":
        config = load(written(server, tmp_path / "kubeconfig"))
    else:
        config = load(service_account=account)
    assert "default" in names(config)


def test_authorities_of_the_environment_do_not_vouch_for_the_cluster(
    server, account, tmp_path, monkeypatch
):
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(server.ca_pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(trusted))
    (account / "ca.crt").write_bytes(certificate_authority().pem)
    with pytest.raises(TransportError, match="certificate verify failed"):
        names(load(service_account=account))


def test_kubeconfig_may_name_another_host_than_it_connects_to(server, tmp_path):
    right = written(server, tmp_path / "a", cluster={"tls-server-name": "localhost"})
    assert "default" in names(load(right))
    wrong = written(server, tmp_path / "b", cluster={"tls-server-name": "elsewhere"})
    with pytest.raises(TransportError, match="elsewhere"):
        names(load(wrong))


def test_kubeconfig_may_skip_verification(server, tmp_path):
    path = written(
        server,
        tmp_path / "kubeconfig",
        cluster={
            "certificate-authority-data": None,
            "insecure-skip-tls-verify": True,
        },
    )
    assert "default" in names(load(path))


def test_kubeconfig_may_run_a_plug_in(server, tmp_path):
    plug_in = tmp_path / "plug-in"
    plug_in.write_text(
        "#!/bin/sh\necho '"
        '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",'
        f'"status":{{"token":"{server.token}"}}}}'
        "'\n"
    )
    plug_in.chmod(0o700)
    command = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": str(plug_in),
        "interactiveMode": "Never",
    }
    user = {"token": None, "exec": command}
    assert "default" in names(load(written(server, tmp_path / "kubeconfig", user=user)))


def test_kubeconfig_without_an_auth_provider_does_not_load_the_package(
    server, tmp_path
):
    """0.2 s and 15 MB."""
    path = written(server, tmp_path / "kubeconfig")
    script = (
        "import sys; from asoreconcile.kube.config import load\n"
        f"load({path!r})\n"
        "print(sorted({'kubernetes', 'pydantic', 'oauthlib'} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


def test_kubeconfig_with_an_auth_provider_says_which_extra_it_needs(
    server, tmp_path, monkeypatch
):
    provider = {"token": None, "auth-provider": {"name": "oidc", "config": {}}}
    path = written(server, tmp_path / "kubeconfig", user=provider)
    monkeypatch.setitem(extras.EXTRAS, "auth-provider", ("kubernetes_that_is_absent",))
    needs = r"kubernetes_that_is_absent.*pip install '[^']*\[auth-provider\]'"
    with pytest.raises(KubeConfigError, match=needs):
        load(path)


def test_the_first_file_that_names_a_context_wins(server, tmp_path):
    whole = server.kubeconfig()
    other = {**whole, "current-context": "other"}
    paths = [tmp_path / "none", tmp_path / "first", tmp_path / "second"]
    paths[1].write_text(yaml.safe_dump(whole))
    paths[2].write_text(yaml.safe_dump(other))
    assert "default" in names(load(os.pathsep.join(map(str, paths))))


def test_paths_start_at_the_file_that_names_them(server, tmp_path):
    """Of several files each user's and cluster's own, as with kubectl."""
    whole = server.kubeconfig()
    cluster = {"server": server.url, "certificate-authority": "ca/ca.crt"}
    for name in ("clusters", "users"):
        (tmp_path / name / "ca").mkdir(parents=True)
    (tmp_path / "clusters" / "ca" / "ca.crt").write_bytes(server.ca_pem)
    (tmp_path / "users" / "token").write_text(server.token)
    parts = {
        "clusters": {
            "current-context": whole["current-context"],
            "contexts": whole["contexts"],
            "clusters": [{"name": whole["clusters"][0]["name"], "cluster": cluster}],
        },
        "users": {
            "users": [{**whole["users"][0], "user": {"tokenFile": "token"}}],
        },
    }
    for name, part in parts.items():
        (tmp_path / name / "config").write_text(yaml.safe_dump(part))
    paths = [str(tmp_path / name / "config") for name in parts]
    assert "default" in names(load(os.pathsep.join(paths)))


@pytest.mark.parametrize(
    ("part", "changes", "says"),
    [
        (
            "cluster",
            {"server": None},
            "cluster embedded: server: the cluster names no server",
        ),
        ("cluster", {"server": 7}, "cluster embedded: server must be text"),
        ("cluster", {"server": "a.example:6443"}, "cluster embedded: server: expected"),
        (
            "cluster",
            {"insecure-skip-tls-verify": "false"},
            "cluster embedded: insecure-skip-tls-verify must be true or false",
        ),
        (
            "user",
            {"tokenFile": "none", "token": None},
            "user admin: tokenFile: No such",
        ),
        ("user", {"username": "u"}, "user admin: token: there is a username"),
        ("user", {"exec": {"command": 1}}, "user admin: exec: command must be text"),
        (
            "context",
            {"cluster": "other"},
            "context embedded: cluster: there is no cluster other",
        ),
        (
            "cluster",
            {"certificate-authority-data": "%"},
            "certificate-authority-data must be base64",
        ),
        (
            "cluster",
            {"certificate-authority-data": None, "certificate-authority": "none"},
            "No such file",
        ),
    ],
)
def test_what_is_wrong_with_a_kubeconfig_is_said(server, tmp_path, part, changes, says):
    path = written(server, tmp_path / "kubeconfig", **{part: changes})
    with pytest.raises(KubeConfigError, match=says):
        load(path)


@pytest.mark.parametrize(
    ("user", "header"),
    [
        ({"token": None, "username": "u", "password": "p:w"}, "Basic dTpwOnc="),
        ({"token": None, "username": "u"}, "Basic dTo="),
        ({"token": "t", "tokenFile": "none"}, "Bearer t"),
        ({"token": None, "password": "p"}, ""),
    ],
)
def test_a_user_signs_in_as_with_kubectl(server, tmp_path, user, header):
    config = load(written(server, tmp_path / "kubeconfig", user=user))
    assert config.authorization() == header


def test_cl7_an_empty_file_among_several_is_nothing(server, tmp_path):
    (tmp_path / "empty").touch()
    paths = [str(tmp_path / "empty"), written(server, tmp_path / "kubeconfig")]
    assert "default" in names(load(os.pathsep.join(paths)))
