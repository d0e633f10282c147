"""The embedded API server survives what nobody should send, and never blames itself."""

import logging
import socket
import ssl

import pytest
from kubeapi import kube_server, widgets_crd
from kubefuzz import attempt, send

SEEDS = [range(300), pytest.param(range(300, 1500), marks=pytest.mark.long)]
# Seeds that found something once; see what each broke in its id.
FOUND = {
    34: "preconditions-list",
    3806: "rules-text",
    4463: "warning-not-latin",
    10592: "version-names-lists",
    11422: "kind-list",
    11695: "schema-properties-text",
    15251: "version-schema-text",
    23583: "review-attributes-text",
    30692: "patch-operation-null",
    49296: "nested-properties-list",
    103667: "crd-names-null",
    108203: "patch-operation-list",
    125989: "keyed-item-number",
}


@pytest.fixture(scope="module")
def served():
    with kube_server() as (kube, client):
        client.install(widgets_crd())
        yield kube, client


def survives(client, seed, caplog):
    """Send a seed's request: an answer comes, and no failure of the server's own."""
    one = attempt(seed)
    caplog.clear()
    with caplog.at_level(logging.ERROR):
        answer = send(client, one)
    told = f"seed {seed}: {one}"
    assert caplog.records == [], f"{told}\n{caplog.text}"
    assert 200 <= answer.status < 600, told
    if answer.status >= 400 and answer.data[:1] == b"{":
        assert b'"kind":"Status"' in answer.data.replace(b" ", b""), told


@pytest.mark.parametrize("seeds", SEEDS, ids=["few", "many"])
def test_a_run_of_broken_requests(served, caplog, seeds):
    _, client = served
    for seed in seeds:
        survives(client, seed, caplog)
    client.get("/readyz").expect(200)


@pytest.mark.parametrize(("seed", "what"), FOUND.items(), ids=FOUND.values())
def test_a_request_that_broke_it_once(served, caplog, seed, what):
    del what
    survives(served[1], seed, caplog)


def reply(connection, junk):
    """What the server says to bytes; nothing when it has cut the connection."""
    try:
        connection.sendall(junk)
        return connection.recv(100)
    except OSError:  # it closed before it had read all
        return b""


def test_bytes_that_are_no_http_end_their_connection_alone(served):
    kube, client = served
    context = ssl.create_default_context(cadata=kube.ca_pem.decode())
    port = int(kube.url.rpartition(":")[2])
    for junk in (
        b"\x00\x01\x02\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"GET " + b"/a" * 60_000 + b" HTTP/1.1\r\n\r\n",
        b"GET http://[::1 HTTP/1.1\r\n\r\n",
    ):
        with (
            socket.create_connection(("127.0.0.1", port), timeout=60) as raw,
            context.wrap_socket(raw, server_hostname="127.0.0.1") as connection,
        ):
            assert reply(connection, junk)[:12] in (b"", b"HTTP/1.1 400")
        client.get("/readyz").expect(200)
