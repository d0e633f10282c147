"""What the command line says of webhooks, and what follows for names and CRDs."""

from base64 import b64encode
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from asoreconcile.azure.catalogue.storage_codec import kept_stored
from asoreconcile.azure.cmd.manager import manager
from asoreconcile.azure.controllers.azure_operator import AzureOperator
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.options import Options
from asoreconcile.azure.controllers.settings import from_environment
from asoreconcile.azure.controllers.webhooks import (
    MountedTrust,
    WebhookOptions,
    WebhookOptionsError,
)
from asoreconcile.base.objects import GroupKind
from asoreconcile.base.tls import fingerprints
from asoreconcile.testing.throwaway_certificates import certificate_authority


def client_config(options):
    return options.client().config("/convert")


@pytest.mark.parametrize(
    ("address", "on"), [("", False), ("0", False), (":9443", True)]
)
def test_wh1_webhooks_are_served_where_there_is_an_address(address, on):
    assert WebhookOptions(address=address, service="system/webhooks").on is on
    assert not WebhookOptions().on


@pytest.mark.parametrize(
    ("where", "form"),
    [
        ({"service": ""}, "NAMESPACE/NAME"),
        ({"service": "webhooks"}, "NAMESPACE/NAME"),
        ({"service": "/webhooks"}, "NAMESPACE/NAME"),
        ({"service": "system/"}, "NAMESPACE/NAME"),
        ({"url": "http://h:9443"}, "https://HOST:PORT"),
        ({"url": "h:9443"}, "https://HOST:PORT"),
        ({"url": "https://:9443"}, "https://HOST:PORT"),
        ({"url": "https://[::1:9443"}, "https://HOST:PORT"),
    ],
    ids=str,
)
def test_where_webhooks_are_found_is_said_in_a_form_that_can_be_called(where, form):
    with pytest.raises(WebhookOptionsError, match=form):
        WebhookOptions(address=":9443", **where)
    assert not WebhookOptions(**where).on


def test_a_manager_that_nobody_could_call_does_not_start():
    arguments = ["--webhook-port=9443", "--webhook-service=webhooks"]
    environment = {"POD_NAMESPACE": "system"}

    result = CliRunner().invoke(manager, arguments, env=environment)

    assert result.exit_code == 2
    assert "Service 'webhooks' is not of the form NAMESPACE/NAME" in result.stderr


def test_wh7_our_certificate_is_for_the_names_that_the_api_server_calls():
    service = WebhookOptions(address=":9443", service="system/webhooks")
    assert service.hosts == (
        "webhooks.system.svc",
        "webhooks.system.svc.cluster.local",
    )
    url = WebhookOptions(address=":9443", url="https://10.0.0.1:9443")
    assert url.hosts == ("10.0.0.1",)


def test_wh7_crds_are_installed_untold_where_we_make_the_certificate():
    url = WebhookOptions(address=":9443", url="https://h:1")
    assert client_config(url) == {"url": "https://h:1/convert"}
    options = WebhookOptions(address=":9443", service="system/webhooks")
    assert client_config(options) == {
        "service": {
            "namespace": "system",
            "name": "webhooks",
            "path": "/convert",
            "port": 443,
        }
    }


@pytest.mark.parametrize(
    "where", [{"url": "https://h:1"}, {"service": "system/webhooks"}], ids=str
)
def test_wh7_crds_trust_the_authority_in_the_folder_else_the_certificate(
    tmp_path, where
):
    options = WebhookOptions(address=":9443", cert_dir=tmp_path, **where)
    with pytest.raises(WebhookOptionsError, match="no certificate"):
        options.client()
    (tmp_path / "tls.crt").write_bytes(b"itself")
    assert client_config(options) == {
        **client_config(WebhookOptions(address=":9443", **where)),
        "caBundle": b64encode(b"itself").decode(),
    }
    (tmp_path / "ca.crt").write_bytes(b"authority")
    assert client_config(options)["caBundle"] == b64encode(b"authority").decode()


def mounted(folder):
    """Options whose certificate was mounted there."""
    pair = certificate_authority().issue(["127.0.0.1"])
    folder.mkdir()
    for name, pem in zip(("tls.crt", "tls.key"), pair, strict=True):
        (folder / name).write_bytes(pem)
    return WebhookOptions(address=":9443", cert_dir=folder, url="https://127.0.0.1:1")


def test_wh7_of_two_mounted_authorities_the_trusted_one_is_ready(tmp_path, clock):
    leading, standing_by = (mounted(tmp_path / name) for name in "ab")
    trusted = fingerprints((leading.cert_dir / "tls.crt").read_bytes())

    def distrusting(_called, own):
        return "" if trusted & own else "things.example.com"

    def check(options, *, leads=False, was_ready=False):
        readyz = SimpleNamespace(have_passed=was_ready)
        app = SimpleNamespace(clock=clock, leads=leads, readyz=readyz)
        return MountedTrust(options, distrusting, app)

    assert check(leading)().ok
    second = check(standing_by)
    alone = check(standing_by, leads=True)
    assert not alone().ok
    clock.advance(3600)
    assert not second().ok
    assert "things.example.com: its caBundle lacks" in second().details[0]
    # A lone leader, and a process that was ready once, do not wait for another one.
    assert alone().ok
    assert check(standing_by, was_ready=True)().ok


@pytest.mark.parametrize(
    ("all_versions", "is_kept", "said"),
    [(False, True, 1), (True, True, 0), (False, False, 0)],
)
def test_a_manager_that_has_to_go_on_converting_says_so(
    tmp_path, caplog, all_versions, is_kept, said
):
    """A chart with `webhook.enable=false` may be rendered outside of the cluster."""
    (tmp_path / "config").write_text(KUBECONFIG)
    operator = AzureOperator(
        from_environment({"POD_NAMESPACE": "system"}),
        Options(
            kubeconfig=str(tmp_path / "config"),
            webhooks=mounted(tmp_path / "pair"),
            all_versions=all_versions,
        ),
    )
    kind = builtin().kind(GroupKind("network.azure.com", "VirtualNetwork"))
    version = kept_stored(kind) if is_kept else kind.version()
    operator._watcher._kinds = SimpleNamespace(versions=lambda: {"kind": version})
    operator._say_what_starts()
    texts = [one.getMessage() for one in caplog.records]
    warned = [text for text in texts if "a form that the webhook converts" in text]
    assert len(warned) == said
    assert all("asoctl clean crds --one-version" in text for text in warned)


KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: c, user: {}}]
contexts: [{name: c, context: {cluster: c, user: c}}]
"""
