"""How large all CRDs are, and what they cost a real kube-apiserver.

    hack/bench crd-sizes [--no-server]

Bytes are those of JSON, as the API server stores them. Its memory is read from /proc once
all are established, as the least of 150 s, and again after collections of its garbage that
were asked for, which is less a matter of luck; it needs KUBEBUILDER_ASSETS.
Claim: with every version and its descriptions a fifth of Azure Service Operator's 52 MB
and 5.5 GiB at most.
"""

import re
import tempfile
import time
from pathlib import Path

import apiservers
import click
import orjson
import requests
from main_job import memory_mib, report

from asoreconcile.azure.catalogue.webhook_manifests import WebhookClient
from asoreconcile.azure.controllers import crds
from asoreconcile.azure.controllers.catalogue import builtin

THEIRS = {"all CRDs": 52.0, "kube-apiserver with them": 5.5 * 1024}
SERVICE = WebhookClient(
    namespace="azureserviceoperator-system",
    name="azureserviceoperator-webhook-service",
)
STEADY_SECONDS, PAUSE_SECONDS = 150.0, 10.0
COLLECTIONS = 4
LIMIT_SECONDS = 600.0


def definitions(conversion):
    kinds = list(builtin().kinds())
    return [crds.manifest(kind, conversion=conversion) for kind in kinds]


def bytes_of(documents):
    return sum(len(orjson.dumps(document)) for document in documents)


def without_descriptions(value):
    if isinstance(value, dict):
        return {
            key: without_descriptions(inner)
            for key, inner in value.items()
            if not (key == "description" and isinstance(inner, str))
        }
    if isinstance(value, list):
        return [without_descriptions(inner) for inner in value]
    return value


def resident_mib(pid, name="VmRSS"):
    return round(memory_mib(pid, name))


class Cluster:
    """A kube-apiserver, asked by hand."""

    def __init__(self, address):
        self.pid = address.pids[0]
        self._url = f"https://127.0.0.1:{address.port}"
        self._session = requests.Session()
        self._session.trust_env = False  # CA bundles and proxies are for other hosts
        self._session.headers["Authorization"] = f"Bearer {address.token}"
        self._session.verify = str(self._bundle(address))

    def _bundle(self, address):
        path = Path(tempfile.gettempdir(), f"crd-sizes-{address.port}.pem")
        path.write_text(address.ca_pem)
        return path

    def ask(self, method, path, body=None):
        answer = self._session.request(method, self._url + path, json=body, timeout=120)
        answer.raise_for_status()
        return answer

    def install(self, documents):
        at = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        for document in documents:
            self.ask("POST", at, document)
        deadline = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < deadline:
            found = self.ask("GET", at).json()["items"]
            if sum(map(established, found)) == len(documents):
                return
            time.sleep(1)
        message = "the CRDs were not established in time"
        raise click.ClickException(message)

    def steady(self):
        """(resident, live heap) in MiB once both grow no more: Go collects its garbage
        every two minutes at the latest, and gives memory back slowly.
        """
        samples, deadline = [], time.monotonic() + STEADY_SECONDS
        while time.monotonic() < deadline:
            samples.append((resident_mib(self.pid), self._heap_mib()))
            time.sleep(PAUSE_SECONDS)
        return min(one for one, _ in samples), min(heap for _, heap in samples)

    def collected(self):
        """Resident MiB once the server has collected its garbage and given it back."""
        samples = []
        for _ in range(COLLECTIONS):
            self.ask("GET", "/debug/pprof/heap?gc=1")
            time.sleep(PAUSE_SECONDS)
            samples.append(resident_mib(self.pid))
        return min(samples)

    def _heap_mib(self):
        text = self.ask("GET", "/metrics").text
        (value,) = re.findall(
            r"^go_memstats_heap_alloc_bytes ([\d.e+]+)$", text, re.MULTILINE
        )
        return round(float(value) / 1024 / 1024)

    def close(self):
        Path(self._session.verify).unlink()
        self._session.close()


def established(document):
    conditions = document.get("status", {}).get("conditions") or ()
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


def measure(name, documents):
    with apiservers.real() as address:
        if address is None:
            report("kube-apiserver", None, "", skipped="KUBEBUILDER_ASSETS names none")
            return
        cluster = Cluster(address)
        _, empty = cluster.steady()
        cluster.install(documents)
        (value, heap), theirs = cluster.steady(), THEIRS["kube-apiserver with them"]
        report(
            "kube-apiserver with them",
            value,
            "MiB",
            crds=name,
            heap=heap,
            heap_without=empty,
            peak=resident_mib(cluster.pid, "VmHWM"),
            collected=cluster.collected(),
            to_theirs=round(value / theirs, 2),
        )
        cluster.close()


@click.command()
@click.option("--no-server", is_flag=True, help="Bytes alone.")
def main(no_server):
    """Sizes of all CRDs, measured."""
    for name, conversion in (("one version", None), ("every version", SERVICE)):
        documents = definitions(conversion)
        whole, plain = bytes_of(documents), bytes_of(without_descriptions(documents))
        report(
            "all CRDs",
            round(whole / 1e6, 2),
            "MB",
            crds=name,
            kinds=len(documents),
            without_descriptions=round(plain / 1e6, 2),
            largest=max(len(orjson.dumps(document)) for document in documents),
            to_theirs=round(whole / 1e6 / THEIRS["all CRDs"], 2),
        )
        if not no_server:
            measure(name, documents)


if __name__ == "__main__":
    main()
