"""Keys and self-signed certificates, in the forms a service principal's come in."""

import datetime as dt
import functools

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID

NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tests")])
PEM = serialization.Encoding.PEM


@functools.cache
def rsa_key():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def certificate_of(key):
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(NAME)
        .issuer_name(NAME)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )


def key_pem(key, password=""):
    encryption = (
        serialization.BestAvailableEncryption(password.encode())
        if password
        else serialization.NoEncryption()
    )
    return key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, encryption)


def certificate_pem(key):
    return certificate_of(key).public_bytes(PEM)


def pem(key, password=""):
    return key_pem(key, password) + certificate_pem(key)


def key12(password=""):
    encryption = (
        serialization.BestAvailableEncryption(password.encode())
        if password
        else serialization.NoEncryption()
    )
    return pkcs12.serialize_key_and_certificates(
        b"tests", rsa_key(), certificate_of(rsa_key()), None, encryption
    )
