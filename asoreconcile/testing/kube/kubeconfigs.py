"""Kubeconfigs for the server: one cluster, one user, one context."""

import base64
from pathlib import Path

import yaml

from asoreconcile.base.objects import JsonObject

# The one of libyaml, if it is there, writes in a tenth of the time.
_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def kubeconfig(url: str, ca_pem: bytes, token: str) -> JsonObject:
    """Return a kubeconfig with one cluster and one user, for the namespace
    `default`.
    """
    cluster = {
        "server": url,
        "certificate-authority-data": base64.b64encode(ca_pem).decode(),
    }
    context = {"cluster": "embedded", "user": "admin", "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "embedded",
        "clusters": [{"name": "embedded", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": "embedded", "context": context}],
    }


def text(document: JsonObject) -> str:
    """Return a kubeconfig as YAML, with members in the given order."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False)


def write(path: str | Path, content: str) -> None:
    """Write a file that only its owner can read, because it contains a token."""
    target = Path(path)
    target.unlink(missing_ok=True)
    target.touch(mode=0o600)
    target.write_text(content)
