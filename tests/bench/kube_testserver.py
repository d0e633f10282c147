"""The embedded API server: writes, reads, lists, watches, memory; a real one beside it.

Prints one JSON line for each figure and server:

    hack/bench kube-testserver [--objects N] [--watchers N] [--lanes N]

With KUBEBUILDER_ASSETS naming a folder with kube-apiserver and etcd, the same is asked
of them in the same run, and `ratio` says how many times as fast the embedded one is.
The client is a hand-written HTTP/1.1 loop over TLS, so that servers are measured, not
it; `lanes` of them run side by side, each on a connection of its own.
"""

import json
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
from apiservers import embedded, real

GROUP = "bench.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = f"/apis/{GROUP}/v1/namespaces/default/widgets"
MERGE = "application/merge-patch+json"
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"widgets.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "size": {"type": "integer", "minimum": 0},
                                    "location": {"type": "string"},
                                    "tags": {
                                        "type": "object",
                                        "additionalProperties": {"type": "string"},
                                    },
                                    "addresses": {
                                        "type": "array",
                                        "items": {"type": "string"},
                                    },
                                },
                            },
                            "status": {
                                "type": "object",
                                "x-kubernetes-preserve-unknown-fields": True,
                            },
                        },
                    }
                },
            }
        ],
    },
}


def widget(number):
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Widget",
        "metadata": {
            "name": f"widget-{number}",
            "labels": {"app": "bench", "shard": str(number % 10)},
        },
        "spec": {
            "size": number,
            "location": "westeurope",
            "tags": {"team": "blue", "cost": "42"},
            "addresses": ["10.0.0.0/16", "10.1.0.0/16"],
        },
    }


class Lane:
    """One connection: a request, its answer, the next."""

    def __init__(self, address):
        raw = socket.create_connection(("127.0.0.1", address.port))
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = address.context().wrap_socket(raw, server_hostname="127.0.0.1")
        self._reader = self._socket.makefile("rb")
        self._fixed = (
            f"Host: 127.0.0.1\r\nAuthorization: Bearer {address.token}\r\n"
            "Accept: application/json\r\n"
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._reader.close()
        self._socket.close()

    def send(self, method, path, body=b"", sort="application/json"):
        head = f"{method} {path} HTTP/1.1\r\n{self._fixed}"
        if body:
            head += f"Content-Type: {sort}\r\nContent-Length: {len(body)}\r\n"
        self._socket.sendall(f"{head}\r\n".encode() + body)

    def call(self, method, path, body=b"", sort="application/json"):
        """The answer's status and body."""
        self.send(method, path, body, sort)
        status, headers = self.head()
        if headers.get(b"transfer-encoding") == b"chunked":
            return status, b"".join(self.chunks())
        return status, self._reader.read(int(headers[b"content-length"]))

    def head(self):
        status = int(self._reader.readline().split(b" ", 2)[1])
        headers = {}
        while (line := self._reader.readline()) != b"\r\n":
            name, _, value = line.partition(b":")
            headers[name.lower()] = value.strip()
        return status, headers

    def chunks(self):
        while size := int(self._reader.readline(), 16):
            yield self._reader.read(size)
            self._reader.readline()
        self._reader.readline()


def install(address):
    with Lane(address) as lane:
        status, body = lane.call("POST", CRDS, json.dumps(CRD).encode())
        if status != 201:
            raise click.ClickException(body.decode())
        deadline = time.monotonic() + 30
        while lane.call("GET", WIDGETS)[0] != 200:
            if time.monotonic() > deadline:
                message = "the kind is never served"
                raise click.ClickException(message)


def rate(address, lanes, requests, expected):
    """Requests a second, all sent over some lanes side by side."""
    shares = [requests[number::lanes] for number in range(lanes)]
    opened = [Lane(address) for _ in range(lanes)]

    def work(lane, share):
        for request in share:
            status, body = lane.call(*request)
            if status != expected:
                raise click.ClickException(f"{status}: {body[:500].decode()}")

    with ThreadPoolExecutor(lanes) as pool:
        began = time.perf_counter()
        list(pool.map(work, opened, shares))
        took = time.perf_counter() - began
    for lane in opened:
        lane.__exit__()
    return len(requests) / took


def listing(address, times):
    """Seconds of a list of all objects, the best of some; and how long it is."""
    best, size = float("inf"), 0
    with Lane(address) as lane:
        for _ in range(times):
            began = time.perf_counter()
            _, body = lane.call("GET", WIDGETS)
            best, size = min(best, time.perf_counter() - began), len(body)
    return best, size


def fan_out(address, watchers, writes):
    """Events a second delivered to all watchers of one collection."""
    ready = threading.Barrier(watchers + 1)
    last = f"fan-{writes - 1}".encode()

    def follow(version):
        with Lane(address) as lane:
            query = f"watch=true&resourceVersion={version}&timeoutSeconds=120"
            lane.send("GET", f"{WIDGETS}?{query}")
            lane.head()
            ready.wait(60)
            tail = b""
            for chunk in lane.chunks():
                tail = tail[-4096:] + chunk
                if b'"' + last + b'"' in tail:
                    return

    with Lane(address) as lane, ThreadPoolExecutor(watchers) as pool:
        _, body = lane.call("GET", f"{WIDGETS}?limit=1")
        version = json.loads(body)["metadata"]["resourceVersion"]
        following = [pool.submit(follow, version) for _ in range(watchers)]
        ready.wait(60)
        began = time.perf_counter()
        for number in range(writes):
            made = widget(number) | {"metadata": {"name": f"fan-{number}"}}
            status, body = lane.call("POST", WIDGETS, json.dumps(made).encode())
            if status != 201:
                raise click.ClickException(body.decode())
        for one in following:
            one.result(120)
        return watchers * writes / (time.perf_counter() - began)


def memory_mib(address):
    """What all processes of a server hold."""
    found = 0.0
    for pid in address.pids:
        text = Path(f"/proc/{pid}/status").read_text()
        found += int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024
    return round(found, 1)


def measured(address, objects, watchers, lanes):
    """All figures of one server: {name: (value, unit, more)}."""
    install(address)
    empty = memory_mib(address)
    listed = min(2000, objects)
    create = [
        ("POST", WIDGETS, json.dumps(widget(number)).encode())
        for number in range(objects)
    ]
    names = [f"{WIDGETS}/widget-{number}" for number in range(listed)]
    patch = [
        ("PATCH", name, json.dumps({"spec": {"size": n + 1}}).encode(), MERGE)
        for n, name in enumerate(names)
    ]
    found = {}
    found["create"] = (rate(address, lanes, create[:listed], 201), "1/s", {})
    found["get"] = (rate(address, lanes, [("GET", n) for n in names], 200), "1/s", {})
    found["patch"] = (rate(address, lanes, patch, 200), "1/s", {})
    seconds, size = listing(address, 5)
    more = {"objects": listed, "bytes": size}
    found["list"] = (1 / seconds, "1/s", more | {"ms": round(seconds * 1000, 1)})
    rate(address, lanes, create[listed:], 201)
    full = memory_mib(address)
    more = {"objects": objects, "empty_mib": empty}
    found["memory"] = (full, "MiB", more)
    found["watch"] = (
        fan_out(address, watchers, 200),
        "events/s",
        {"watchers": watchers},
    )
    return found


@click.command(help=__doc__.partition("\n")[0])
@click.option("--objects", default=10_000, show_default=True)
@click.option("--watchers", default=50, show_default=True)
@click.option("--lanes", default=4, show_default=True)
def main(objects, watchers, lanes):
    with embedded() as address:
        ours = measured(address, objects, watchers, lanes)
    with real() as address:
        theirs = address and measured(address, objects, watchers, lanes)
    for figure, (value, unit, more) in ours.items():
        line = {"figure": figure, "value": round(value, 1), "unit": unit, **more}
        if theirs:
            other = theirs[figure][0]
            line["kube_apiserver"] = round(other, 1)
            line["ratio"] = round(value / other, 2)
        click.echo(json.dumps(line))


if __name__ == "__main__":
    main()
