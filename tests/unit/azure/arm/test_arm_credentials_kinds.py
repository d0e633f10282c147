"""Certificates, workload identity and managed identity, short of asking Entra."""

import base64
import traceback

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from keypairs import certificate_pem, key12, key_pem, pem, rsa_key

from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.arm.credentials_certificate import ClientCertificate
from asoreconcile.azure.arm.credentials_federated import (
    ManagedIdentity,
    WorkloadIdentity,
)

PASSWORD = "canary-password-9f8e"


def source(content, password=""):
    return ClientCertificate("tenant", "client", content, password, "sub")


CASES = {
    "PEM": lambda: (pem(rsa_key()), ""),
    "PEM and a password nobody needs": lambda: (pem(rsa_key()), PASSWORD),
    "encrypted PEM": lambda: (pem(rsa_key(), PASSWORD), PASSWORD),
    "PKCS12": lambda: (key12(), ""),
    "encrypted PKCS12": lambda: (key12(PASSWORD), PASSWORD),
    "PKCS12 in base64": lambda: (base64.encodebytes(key12(PASSWORD)), PASSWORD),
}


@pytest.mark.parametrize("make", CASES.values(), ids=CASES)
def test_a_certificate_is_taken_in_every_form(make):
    credential = source(*make()).credential()
    assert repr(credential) == "credential of client client"


def elliptic():
    return pem(ec.generate_private_key(ec.SECP256R1()))


MISTAKES = {
    "no key": (lambda: certificate_pem(rsa_key()), "no private key"),
    "no certificate": (lambda: key_pem(rsa_key()), "no certificate"),
    "encrypted, no password": (
        lambda: pem(rsa_key(), PASSWORD),
        "AZURE_CLIENT_CERTIFICATE_PASSWORD",
    ),
    "garbage": (lambda: b"canary-garbage", "neither PEM nor PKCS12"),
    "an encrypted PKCS12, no password": (lambda: key12(PASSWORD), "neither PEM nor"),
    "broken key": (
        lambda: pem(rsa_key()).replace(b"MII", b"XXX"),
        "cannot be read|no certificate",
    ),
    "not RSA": (elliptic, "not an RSA key"),
}


@pytest.mark.parametrize(("make", "says"), MISTAKES.values(), ids=MISTAKES)
def test_a_certificate_that_cannot_be_used_says_why(make, says):
    content = make()
    with pytest.raises(CredentialError, match=says) as caught:
        source(content).credential()
    text = "".join(traceback.format_exception(caught.value))
    assert "canary-garbage" not in text
    assert not any(line in text for line in content.decode("latin1").split("\n")[1:3])


@pytest.mark.parametrize("make", [lambda: pem(rsa_key(), PASSWORD), key12])
def test_a_wrong_password_is_named_and_not_quoted(make):
    content = make(PASSWORD) if make is key12 else make()
    wrong = PASSWORD[::-1]
    with pytest.raises(CredentialError, match="is wrong") as caught:
        source(content, wrong).credential()
    assert wrong not in "".join(traceback.format_exception(caught.value))


def test_a_certificate_and_its_password_are_in_no_repr():
    value = source(pem(rsa_key(), PASSWORD), PASSWORD)
    assert PASSWORD not in repr(value)
    assert "BEGIN" not in repr(value)


def test_a_malformed_tenant_is_named():
    bad = ClientCertificate("no/tenant", "client", pem(rsa_key()))
    with pytest.raises(CredentialError, match="tenant"):
        bad.credential()
    with pytest.raises(CredentialError, match="tenant"):
        WorkloadIdentity("no/tenant", "client").credential()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "No such file"),
        (b"", "holds no service account token"),
        (b"\xff\xfe", "holds no service account token"),
        (b"x" * 70_000, "holds no service account token"),
    ],
    ids=["missing", "empty", "binary", "huge"],
)
def test_a_token_file_that_cannot_be_used_says_why(tmp_path, content, says):
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    identity = WorkloadIdentity("tenant", "client", token_file=str(file))
    with pytest.raises(CredentialError, match=says):
        identity.credential().get_token("scope")


def test_a_managed_identity_names_itself():
    assert "managed identity client c (x)" in repr(
        ManagedIdentity("c", origin="x").credential()
    )
    assert "the machine's own" in repr(ManagedIdentity("").credential())


def test_variables_of_workload_identity_do_not_take_a_managed_identitys_place(
    monkeypatch, tmp_path
):
    for name in ("AZURE_TENANT_ID", "AZURE_CLIENT_ID"):
        monkeypatch.setenv(name, "injected")
    monkeypatch.setenv("AZURE_FEDERATED_TOKEN_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://127.0.0.1:9")
    with pytest.raises(CredentialError, match="assign it to the machine") as caught:
        ManagedIdentity("c").credential().get_token("https://arm.example/.default")
    assert "token file" not in str(caught.value)
