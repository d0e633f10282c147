"""Files of user-assigned identities, short of asking Entra."""

import base64
import logging
import os
import traceback

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from keypairs import identity_file, pem, rsa_key

from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.arm.credentials_identity_file import IdentityFile

AUTHORITY = "https://westus2.login.example/"
CANARY = "canary-identity-2b"


def written(path, **changes):
    path.write_text(identity_file("tenant", "identity", AUTHORITY, **changes))
    return IdentityFile(str(path), "", "", "sub", origin="Secret ns/s")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "identity.json"


def encoded(content):
    return base64.b64encode(content).decode()


FORMS = {"PKCS12": {}, "PEM": {"client_secret": encoded(pem(rsa_key()))}}


@pytest.mark.parametrize("changes", FORMS.values(), ids=FORMS)
def test_a_file_says_whose_tokens_there_are(path, changes):
    source = written(path, **changes)
    credential = source.credential()
    assert repr(credential) == "credential of client identity (Secret ns/s)"
    assert source.additional_tenants == ()


MISTAKES = {
    "no member": ({"client_secret": None, "not_before": None}, "client_secret, not_be"),
    "an empty member": ({"tenant_id": " "}, "it has no tenant_id"),
    "a member of another type": ({"client_id": 7}, "it has no client_id"),
    "plain authority": ({"authentication_endpoint": "http://a/"}, "https://"),
    "tenant is a path": ({"tenant_id": "a/b"}, "tenant_id is no tenant's GUID"),
    "no base64": ({"client_secret": CANARY}, "client_secret is no base64"),
    "no certificate": ({"client_secret": encoded(CANARY.encode())}, "neither PEM nor"),
    "not RSA": (
        {"client_secret": encoded(pem(ec.generate_private_key(ec.SECP256R1())))},
        "not an RSA key",
    ),
    "no time": ({"not_before": "soon"}, "not_before is no time"),
    "a time without a zone": ({"not_before": "2026-01-01T00:00:00"}, "not_before"),
}


@pytest.mark.parametrize(("changes", "says"), MISTAKES.values(), ids=MISTAKES)
def test_a_file_that_cannot_be_used_says_why(path, changes, says):
    source = written(path, **changes)
    with pytest.raises(CredentialError, match=says) as caught:
        source.credential()
    assert str(path) in str(caught.value)
    assert CANARY not in "".join(traceback.format_exception(caught.value))


CONTENTS = {
    "no JSON": (CANARY.encode(), "is no JSON"),
    "cut": (b'{"client_id": "' + CANARY.encode(), "is no JSON"),
    "no object": (b"[]", "no JSON object"),
    "no text": (b"\xff\xfe", "is no JSON"),
    "too large": (b" " * 1_048_577 + b"{}", "is no JSON"),
}


@pytest.mark.parametrize(("content", "says"), CONTENTS.values(), ids=CONTENTS)
def test_what_is_no_credential_is_not_quoted(path, content, says):
    path.write_bytes(content)
    with pytest.raises(CredentialError, match=says) as caught:
        IdentityFile(str(path), "", "").credential()
    assert CANARY not in "".join(traceback.format_exception(caught.value))


def test_a_file_that_is_not_there_is_named(path):
    with pytest.raises(CredentialError, match="No such file") as caught:
        IdentityFile(str(path), "", "").credential()
    assert str(path) in str(caught.value)


def test_a_pipe_or_device_is_never_waited_for(path):
    os.mkfifo(path)
    for file in (str(path), "/dev/zero", str(path.parent)):
        with pytest.raises(CredentialError, match="it is no file"):
            IdentityFile(file, "", "").credential()


def test_a_name_that_is_no_path_is_an_error_of_the_credential():
    with pytest.raises(CredentialError, match="cannot be read"):
        IdentityFile("a\0b", "", "").credential()


def test_neither_the_file_s_nor_the_credential_s_repr_shows_the_certificate(path):
    source = written(path)
    shown = repr(source) + repr(source.credential())
    assert identity_file("", "", "").split('"client_secret": "')[1][:40] not in shown


def test_a_worse_file_leaves_the_certificate_and_is_told_of(path, caplog):
    caplog.set_level(logging.WARNING)
    credential = written(path).credential()
    first = credential._current()
    for content in (b"{", b""):
        path.write_bytes(content)
        assert credential._current() is first
    path.unlink()
    assert credential._current() is first
    assert caplog.text.count("Keeping the identity's old certificate") == 3


def test_only_a_certificate_that_begins_later_takes_the_place(path, caplog):
    caplog.set_level(logging.INFO)
    credential = written(path).credential()
    first = credential._current()
    written(path, not_before="2025-12-31T23:59:59Z")
    assert credential._current() is first
    assert "is not newer" in caplog.text
    written(path, not_before="2026-01-01T00:00:01Z", object_id="longer")
    second = credential._current()
    assert second is not first
    assert credential._current() is second
    assert caplog.text.count("Loaded the identity's new certificate") == 1
