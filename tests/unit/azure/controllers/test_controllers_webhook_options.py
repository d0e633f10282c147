"""What the command line says of webhooks, and what follows for names and CRDs."""

from base64 import b64encode

import pytest
from click.testing import CliRunner

from asoreconcile.azure.cmd.manager import manager
from asoreconcile.azure.controllers.webhooks import WebhookOptions, WebhookOptionsError


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
