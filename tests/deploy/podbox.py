"""A container of a pod, run as a node would do, from an image's archive.

No container engine is needed. The archive's layers become a folder, which is mounted
read-only in a mount namespace of its own, with the pod's mounts on top. The process has
the image's user, no capability and no way to gain one. Needs root.
"""

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

_SCRIPT = """
set -e
mount --make-rprivate /
mount --bind "$ROOT" "$ROOT"
for one in /dev /proc; do mount --rbind "$one" "$ROOT$one"; done
for one in $TEMPORARY; do mount -t tmpfs -o size=64m,mode=1777 tmpfs "$ROOT$one"; done
mount -o remount,bind,ro "$ROOT"
cd /
user=$USER
unset ROOT TEMPORARY USER
exec setpriv --no-new-privs chroot --userspec="$user" "$1" "${@:2}"
"""


class Image:
    """An image's archive, unpacked into a folder."""

    def __init__(self, archive: Path, folder: Path) -> None:
        self.root = folder / "root"
        self.root.mkdir()
        with tarfile.open(archive) as tar:
            tar.extractall(folder / "layout", filter="data")
        self._layout = folder / "layout"
        index = json.loads((self._layout / "index.json").read_bytes())
        (entry,) = index["manifests"]
        self.manifest = self._read(entry)
        document = self._read(self.manifest["config"])
        self.config = document["config"]
        self.architecture = document["architecture"]
        for layer in self.manifest["layers"]:
            with tarfile.open(self._blob(layer)) as tar:
                tar.extractall(self.root, filter="tar")

    def _read(self, described: Mapping[str, Any]) -> Any:
        return json.loads(self._blob(described).read_bytes())

    def _blob(self, described: Mapping[str, Any]) -> Path:
        algorithm, _, digest = described["digest"].partition(":")
        path: Path = self._layout / "blobs" / algorithm / digest
        content = path.read_bytes()
        assert hashlib.sha256(content).hexdigest() == digest
        assert len(content) == described["size"]
        return path

    def files(self) -> Iterator[tuple[str, Path]]:
        """Yield the path in the image and the file, without links and folders."""
        for path in self.root.rglob("*"):
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(self.root).as_posix(), path


class Container:
    """A process of an image, with the settings of a pod's spec.

    mounted: read-only files by their path in the container.
    temporary: folders that may be written.
    """

    def __init__(
        self,
        image: Image,
        arguments: Sequence[str],
        *,
        environment: Mapping[str, str],
        mounted: Mapping[str, str],
        temporary: Sequence[str],
        log_path: Path,
    ) -> None:
        self._log_path = log_path
        for folder in ("/dev", "/proc", *temporary):
            self.path(image, folder).mkdir(parents=True, exist_ok=True)
        for name, content in mounted.items():
            path = self.path(image, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        given = dict(one.split("=", 1) for one in image.config["Env"])
        with log_path.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *(
                        "unshare",
                        "--mount",
                        shutil.which("bash") or "bash",
                        "-c",
                        _SCRIPT,
                        "box",
                    ),
                    *(str(image.root), *image.config["Entrypoint"], *arguments),
                ],
                env={
                    **given,
                    **environment,
                    "PATH": f"{given['PATH']}:/usr/sbin:/bin",
                    "ROOT": str(image.root),
                    "TEMPORARY": " ".join(temporary),
                    "USER": image.config["User"],
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd="/",
            )

    @staticmethod
    def path(image: Image, name: str) -> Path:
        return image.root / name.lstrip("/")

    @property
    def pid(self) -> int:
        return self._process.pid

    def status(self) -> dict[str, str]:
        """Return the kernel's status of the process, by name."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        return dict(line.split(":\t", 1) for line in text.splitlines())

    def mounts(self) -> dict[str, list[str]]:
        """Return the options of each mount of the process, by its folder."""
        lines = Path(f"/proc/{self.pid}/mountinfo").read_text().splitlines()
        return {line.split()[4]: line.split()[5].split(",") for line in lines}

    def end(self, grace_seconds: float = 10.0) -> int:
        if self._process.poll() is None:
            self._process.terminate()
        try:
            return self._process.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def why_not() -> str:
    """Return why this machine cannot run a container, or ""."""
    if os.geteuid():
        return "only root may change the root of a process"
    done = subprocess.run(["unshare", "--mount", "true"], check=False)
    return "" if done.returncode == 0 else "no mount namespaces here"
