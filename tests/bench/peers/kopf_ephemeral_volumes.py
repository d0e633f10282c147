"""By kopf what tests/examples/ephemeral_volumes.py does, with kopf's own decorators.

The Kubernetes client is urllib3 with one pool: kopf leaves the client to its users.
"""

import json
import os
import ssl
from base64 import b64decode
from pathlib import Path

import kopf
import urllib3
import yaml

_config = yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text())
_cluster, _user = _config["clusters"][0]["cluster"], _config["users"][0]["user"]
_authority = b64decode(_cluster["certificate-authority-data"]).decode()
_context = ssl.create_default_context(cadata=_authority)
_pool = urllib3.PoolManager(ssl_context=_context, maxsize=8)
_headers = {
    "authorization": f"Bearer {_user['token']}",
    "content-type": "application/apply-patch+yaml",
}
KIND = "ephemeralvolumeclaims"


@kopf.on.login()
def login(**_):
    return kopf.ConnectionInfo(
        server=_cluster["server"],
        ca_data=_cluster["certificate-authority-data"],
        scheme="Bearer",
        token=_user["token"],
    )


@kopf.on.startup()
def configure(settings, **_):
    settings.posting.enabled = False


@kopf.on.resume(KIND)
@kopf.on.create(KIND)
@kopf.on.update(KIND, field="spec.size")
@kopf.on.update(KIND, field="metadata.labels")
def claim(spec, name, namespace, labels, patch, **_):
    child = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels)},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": spec["size"]}},
        },
    }
    kopf.adopt(child)
    path = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}"
    url = f"{_cluster['server']}{path}?fieldManager=kopf&force=true"
    answer = _pool.request("PATCH", url, body=json.dumps(child), headers=_headers)
    if answer.status >= 300:
        raise kopf.TemporaryError(answer.data.decode())
    patch.status["claim"] = name
