"""By kopf what the README's mirror does: ConfigMaps copied to namespaces with a label.

The Kubernetes client is urllib3 with one pool: kopf leaves the client to its users. A
copy that somebody changed is not mended: that would be one more handler.
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
SOURCES = {"mirror": "yes"}


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


@kopf.index("namespaces", labels=SOURCES)
def mirrored(name, **_):
    return {name: True}


@kopf.on.resume("configmaps", labels=SOURCES)
@kopf.on.create("configmaps", labels=SOURCES)
@kopf.on.update("configmaps", labels=SOURCES, field="data")
def copy(name, namespace, body, mirrored, **_):
    for target in mirrored:
        if target != namespace:
            child = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {
                    "name": name,
                    "annotations": {"mirror/source": f"{namespace}/{name}"},
                },
                "data": dict(body.get("data", {})),
            }
            path = f"/api/v1/namespaces/{target}/configmaps/{name}"
            url = f"{_cluster['server']}{path}?fieldManager=mirror&force=true"
            body_ = json.dumps(child)
            answer = _pool.request("PATCH", url, body=body_, headers=_headers)
            if answer.status >= 300:
                raise kopf.TemporaryError(answer.data.decode())
