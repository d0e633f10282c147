"""Compressed answers, and the metrics of the server itself."""

import gzip
import json

import pytest
from contractclient import Server, config_maps

SHORT, LONG = 100, 300_000


def fetched(server: Server, path: str, *, accept: str, method="GET", body=None):
    """The raw answer: its encoding, and its bytes as they came."""
    answer = server._pool.request(
        method,
        server._address(path, {}),
        body=None if body is None else json.dumps(body),
        headers={
            "Authorization": f"Bearer {server.token}",
            "Accept-Encoding": accept,
            "Content-Type": "application/json",
        },
        preload_content=False,
    )
    try:
        return answer.headers, answer.read(decode_content=False)
    finally:
        answer.release_conn()


def config_map(name: str, size: int):
    return {"metadata": {"name": name}, "data": {"k": "x" * size}}


@pytest.mark.parametrize("accept", ["gzip", "deflate, gzip"])
def test_long_answers_are_compressed_for_who_asks(server: Server, namespace, accept):
    path = config_maps(namespace)
    headers, text = fetched(
        server, path, accept=accept, method="POST", body=config_map("one", LONG)
    )
    assert headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(text))["metadata"]["name"] == "one"
    for of in (path, f"{path}/one"):
        headers, text = fetched(server, of, accept=accept)
        assert headers["Content-Encoding"] == "gzip"
        assert headers["Vary"] == "Accept-Encoding"
        assert len(text) < LONG / 10
        assert gzip.decompress(text).count(b"x" * LONG) == 1


@pytest.mark.parametrize("accept", ["identity", "gzip;q=0", "br", "*", "GZIP"])
def test_nobody_else_gets_anything_compressed(server: Server, namespace, accept):
    path = config_maps(namespace)
    server.post(path, config_map("one", LONG)).expect(201)
    headers, text = fetched(server, f"{path}/one", accept=accept)
    assert "Content-Encoding" not in headers
    assert json.loads(text)["data"]["k"] == "x" * LONG


def test_short_answers_and_watches_are_not_compressed(server: Server, namespace):
    path = config_maps(namespace)
    server.post(path, config_map("one", SHORT)).expect(201)
    assert "Content-Encoding" not in fetched(server, f"{path}/one", accept="gzip")[0]
    server.post(path, config_map("two", LONG)).expect(201)
    watch = f"{path}?watch=1&resourceVersion=0&timeoutSeconds=1"
    headers, text = fetched(server, watch, accept="gzip")
    assert "Content-Encoding" not in headers
    assert b"x" * LONG in text


def test_metrics_count_requests_and_objects(server: Server, namespace):
    server.post(config_maps(namespace), config_map("one", SHORT)).expect(201)
    answer = server.get("/metrics").expect(200)
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    lines = answer.text.splitlines()
    assert any(
        line.startswith("apiserver_request_total{")
        and 'verb="POST"' in line
        and 'resource="configmaps"' in line
        and 'code="201"' in line
        for line in lines
    )
    names = {line.partition("{")[0].partition(" ")[0] for line in lines}
    assert {"process_start_time_seconds", "process_open_fds"} <= names


def test_metrics_are_not_for_everybody(server: Server):
    stranger = Server(server.url, "no-token", server.authority_pem)
    with stranger:
        assert stranger.get("/metrics").status in (401, 403)
