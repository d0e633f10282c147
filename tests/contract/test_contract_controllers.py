"""Controllers of other projects do their work: cert-manager, external-secrets.

`hack/go-program certmanager` and `externalsecrets` build them, in some minutes each, so
these tests run with the long ones (`hack/ci long`); kro's is `tests/acceptance/test_kro.py`.
"""

import base64
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import goprograms
import pytest
import yaml
from contractclient import Json, Server, until
from cryptography import x509

from asoreconcile.testing.kube import kubeconfigs

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


@contextmanager
def running(server: Server, folder: Path, name: str, *arguments: str) -> Iterator[None]:
    """Run a controller as the administrator; a failure shows the end of its log."""
    config = folder / "kubeconfig"
    authority = server.authority_pem.encode()
    document = kubeconfigs.kubeconfig(server.url, authority, server.token)
    kubeconfigs.write(config, kubeconfigs.text(document))
    log = folder / "log"
    with (
        log.open("wb") as written,
        subprocess.Popen(
            [goprograms.built(name), *arguments],
            env={**os.environ, "KUBECONFIG": str(config), "POD_NAMESPACE": "default"},
            stdout=written,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            yield
        except BaseException as error:
            error.add_note(log.read_text()[-5000:])
            raise
        finally:
            process.kill()


def install(server: Server, name: str, module: str, folder: str) -> None:
    """Install the CRDs of a module, and wait until they are served."""
    for path in (goprograms.module_folder(name, module) / folder).glob("*.yaml"):
        for document in yaml.safe_load_all(path.read_text()):
            if document and document["kind"] == "CustomResourceDefinition":
                server.install(document)


def is_ready(found: Json) -> bool:
    """Return whether an object is Ready at its generation."""
    return any(
        (one["type"], one["status"]) == ("Ready", "True")
        and one.get("observedGeneration", 0) in (0, found["metadata"]["generation"])
        for one in found.get("status", {}).get("conditions", ())
    )


def test_cert_manager_issues_and_renews(
    server: Server, namespace: str, tmp_path: Path
) -> None:
    install(
        server, "certmanager", "github.com/cert-manager/cert-manager", "deploy/crds"
    )
    group = f"/apis/cert-manager.io/v1/namespaces/{namespace}"
    path, secrets = (
        f"{group}/certificates/shop",
        f"/api/v1/namespaces/{namespace}/secrets",
    )

    def create(kind: str, name: str, **spec: Any) -> None:
        body = {"kind": kind, "apiVersion": "cert-manager.io/v1", "spec": spec}
        body["metadata"] = {"name": name}
        server.post(f"{group}/{kind.lower()}s", body).expect(201)

    def served(*names: str) -> x509.Certificate:
        def holds(found: Json) -> bool:
            return is_ready(found) and found["spec"]["dnsNames"] == [*names]

        until(lambda: server.get(path).expect(200).json, holds)
        data = server.get(f"{secrets}/shop").expect(200).json["data"]
        certificate = x509.load_pem_x509_certificate(base64.b64decode(data["tls.crt"]))
        found = certificate.extensions.get_extension_for_class(
            x509.SubjectAlternativeName
        )
        assert found.value.get_values_for_type(x509.DNSName) == [*names]
        return certificate

    with running(server, tmp_path, "certmanager"):
        create("Issuer", "self-signed", selfSigned={})
        create(
            *("Certificate", "authority"),
            isCA=True,
            commonName="shop authority",
            secretName="authority",
            issuerRef={"name": "self-signed"},
        )
        create("Issuer", "authority", ca={"secretName": "authority"})
        create(
            *("Certificate", "shop"),
            dnsNames=["shop.example"],
            secretName="shop",
            issuerRef={"name": "authority"},
        )
        first = served("shop.example")
        names = ["shop.example", "www.shop.example"]
        server.patch(path, {"spec": {"dnsNames": names}}).expect(200)
        second = served(*names)
        assert second.serial_number != first.serial_number
        # A Secret that is lost is made again.
        server.delete(f"{secrets}/shop").expect(200)
        until(lambda: server.get(f"{secrets}/shop"), lambda one: one.status == 200)
        served(*names)


def test_external_secrets_reads_and_pushes(
    server: Server, namespace: str, tmp_path: Path
) -> None:
    module = "github.com/external-secrets/external-secrets"
    install(server, "externalsecrets", module, "config/crds/bases")
    group = f"/apis/external-secrets.io/v1/namespaces/{namespace}"
    secrets = f"/api/v1/namespaces/{namespace}/secrets"

    def create(path: str, kind: str, name: str, **members: Any) -> None:
        version = path.removeprefix("/apis/").removeprefix("/api/").split("/namespaces")
        body = {"kind": kind, "apiVersion": version[0], "metadata": {"name": name}}
        server.post(path, body | members).expect(201)

    def holds(name: str, **texts: str) -> None:
        data = {n: base64.b64encode(t.encode()).decode() for n, t in texts.items()}
        until(
            lambda: server.get(f"{secrets}/{name}"),
            lambda one: one.status == 200 and one.json["data"] == data,
        )

    access = {"bearerToken": {"name": "access", "key": "token"}}
    itself = {
        "remoteNamespace": namespace,
        "server": {
            "url": server.url,
            "caBundle": base64.b64encode(server.authority_pem.encode()).decode(),
        },
        "auth": {"token": access},
    }
    create(secrets, "Secret", "access", stringData={"token": server.token})
    create(secrets, "Secret", "source", stringData={"user": "shop", "word": "one"})
    with running(server, tmp_path, "externalsecrets", "--metrics-addr=127.0.0.1:0"):
        store = {"provider": {"kubernetes": itself}}
        create(f"{group}/secretstores", "SecretStore", "cluster", spec=store)
        reading = {
            "refreshInterval": "1s",
            "secretStoreRef": {"name": "cluster"},
            "target": {
                "name": "read",
                "template": {"data": {"login": "{{ .user }}:{{ .word }}"}},
            },
            "dataFrom": [{"extract": {"key": "source"}}],
        }
        create(f"{group}/externalsecrets", "ExternalSecret", "read", spec=reading)
        holds("read", login="shop:one")
        server.patch(f"{secrets}/source", {"stringData": {"word": "two"}}).expect(200)
        holds("read", login="shop:two")
        pushing = {
            "refreshInterval": "1s",
            "secretStoreRefs": [{"name": "cluster"}],
            "selector": {"secret": {"name": "read"}},
            "data": [
                {
                    "match": {
                        "secretKey": "login",
                        "remoteRef": {"remoteKey": "pushed", "property": "login"},
                    }
                }
            ],
            "deletionPolicy": "Delete",
        }
        pushes = group.replace("/v1/", "/v1alpha1/") + "/pushsecrets"
        create(pushes, "PushSecret", "push", spec=pushing)
        holds("pushed", login="shop:two")
        server.delete(f"{pushes}/push").expect(200)
        until(lambda: server.get(f"{secrets}/pushed"), lambda one: one.status == 404)
