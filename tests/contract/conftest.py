"""The API server under test: any, named by environment, else the embedded one.

ASORECONCILE_CONTRACT_URL, _TOKEN and _CA (a PEM file) name a server to test; its token
must be an administrator's. The tests speak plain HTTP: what they say of the embedded
server can be said of a real one, by running the same files.
"""

import os
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from contractclient import Server, widgets_crd

_VARIABLE = "ASORECONCILE_CONTRACT_"


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """An administrator's client; the CRD `widgets.contract.example.com` is there."""
    url = os.environ.get(_VARIABLE + "URL")
    if url:
        trusted = Path(os.environ[_VARIABLE + "CA"]).read_text()
        with Server(url, os.environ[_VARIABLE + "TOKEN"], _context(trusted)) as found:
            yield _prepared(found)
        return
    from asoreconcile.testing.kube import KubeServer

    with (
        KubeServer() as embedded,
        Server(
            embedded.url, embedded.token, _context(embedded.ca_pem.decode())
        ) as found,
    ):
        yield _prepared(found)


def _context(authority_pem: str) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=authority_pem)


def _prepared(server: Server) -> Server:
    server.install(widgets_crd())
    return server


@pytest.fixture
def namespace(server: Server) -> Iterator[str]:
    """A namespace of the test's own; gone, or going, after it."""
    with server.namespace() as name:
        yield name
