"""An OCI image layout as one tar file, as docker, podman, skopeo and crane take it.

Nothing in it depends on when, where or by whom it was made: files are sorted, owned by
root and of one time.
"""

import gzip
import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_INDEX = "application/vnd.oci.image.index.v1+json"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
# Of two runs of the same zlib the same bytes come.
_LEVEL = 6


@dataclass(frozen=True)
class Layer:
    """A compressed tar. diff_id: the SHA-256 of what it is uncompressed."""

    content: bytes
    diff_id: str


def layer(folder: Path, *, epoch: int) -> Layer:
    """A folder as a layer. epoch: the time of every file, in seconds."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(folder.rglob("*")):
            entry = tar.gettarinfo(path, arcname=path.relative_to(folder).as_posix())
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime = epoch
            if entry.isdir():
                # What processes write goes into /tmp, where something is mounted.
                entry.mode = 0o1777 if entry.name == "tmp" else 0o755
                tar.addfile(entry)
            elif entry.isreg():
                entry.mode = 0o755 if entry.mode & 0o100 else 0o644
                with path.open("rb") as file:
                    tar.addfile(entry, file)
            else:
                tar.addfile(entry)
    plain = made.getvalue()
    return Layer(gzip.compress(plain, _LEVEL, mtime=0), _digest(plain))


def kept_layer(folder: Path, kept: Path, *, epoch: int) -> Layer:
    """The same, read from a file where it is there, else written to it."""
    if not kept.is_file():
        made = layer(folder, epoch=epoch)
        fresh = kept.with_suffix(f".{os.getpid()}")
        fresh.write_bytes(made.content)
        fresh.rename(kept)
        return made
    content = kept.read_bytes()
    return Layer(content, _digest(gzip.decompress(content)))


def write(
    target: Path,
    layers: Iterable[Layer],
    *,
    architecture: str,
    created: str,
    config: dict[str, Any],
    name: str,
    annotations: dict[str, str],
) -> None:
    """Write an image's archive. layers: the lowest first.

    created: RFC 3339. config: as OCI's image configuration has it under that name.
    """
    blobs: dict[str, bytes] = {}

    def blob(content: bytes, type_: str) -> dict[str, Any]:
        digest = _digest(content)
        blobs[f"blobs/sha256/{digest}"] = content
        return {"mediaType": type_, "digest": f"sha256:{digest}", "size": len(content)}

    described, diff_ids = [], []
    for one in layers:
        diff_ids.append(f"sha256:{one.diff_id}")
        described.append(blob(one.content, _LAYER))
    document = {
        "architecture": architecture,
        "config": config,
        "created": created,
        "history": [{"created": created, "created_by": "hack/image"} for _ in diff_ids],
        "os": "linux",
        "rootfs": {"type": "layers", "diff_ids": diff_ids},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": blob(_json(document), _CONFIG),
        "layers": described,
        "annotations": annotations,
    }
    entry = blob(_json(manifest), _MANIFEST)
    entry["platform"] = {"architecture": architecture, "os": "linux"}
    entry["annotations"] = {
        "io.containerd.image.name": name,
        "org.opencontainers.image.ref.name": name.rpartition(":")[2],
    }
    index = {"schemaVersion": 2, "mediaType": _INDEX, "manifests": [entry]}
    files = {
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
        "index.json": _json(index),
        **blobs,
    }
    with tarfile.open(target, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(files):
            info = tarfile.TarInfo(path)
            info.size, info.mode = len(files[path]), 0o644
            tar.addfile(info, io.BytesIO(files[path]))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _json(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
