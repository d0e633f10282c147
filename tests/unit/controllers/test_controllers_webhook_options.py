"""What the command line says of webhooks, and what follows for names and CRDs."""

from base64 import b64encode

import pytest

from asoreconcile.controllers.webhooks import WebhookOptions, WebhookOptionsError


def client_config(options):
    return options.client().config("/convert")


@pytest.mark.parametrize(
    ("address", "on"), [("", False), ("0", False), (":9443", True)]
)
def test_wh1_webhooks_are_served_where_there_is_an_address(address, on):
    assert WebhookOptions(address=address).on is on
    assert not WebhookOptions().on


def test_wh7_our_certificate_is_for_the_names_that_the_api_server_calls():
    service = WebhookOptions(address=":9443", service="system/webhooks")
    assert service.hosts == (
        "webhooks.system.svc",
        "webhooks.system.svc.cluster.local",
    )
    url = WebhookOptions(address=":9443", url="https://10.0.0.1:9443")
    assert url.hosts == ("10.0.0.1",)


def test_wh7_crds_are_installed_untold_where_we_make_the_certificate():
    options = WebhookOptions(address=":9443", service="system/webhooks")
    assert client_config(options) == {
        "service": {
            "namespace": "system",
            "name": "webhooks",
            "path": "/convert",
            "port": 443,
        }
    }


def test_wh7_crds_trust_the_authority_in_the_folder_else_the_certificate(tmp_path):
    options = WebhookOptions(address=":9443", url="https://h:1", cert_dir=tmp_path)
    with pytest.raises(WebhookOptionsError, match="no certificate"):
        options.client()
    (tmp_path / "tls.crt").write_bytes(b"itself")
    assert client_config(options) == {
        "url": "https://h:1/convert",
        "caBundle": b64encode(b"itself").decode(),
    }
    (tmp_path / "ca.crt").write_bytes(b"authority")
    assert client_config(options)["caBundle"] == b64encode(b"authority").decode()
