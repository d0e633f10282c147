"""Whole controllers beside the same ones by kopf: lines, and CPU for each object.

hack/bench controllers [--objects N] [--rounds N]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))

from ephemeral_volumes import EphemeralVolumeClaim

from asoreconcile import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    PERSISTENT_VOLUME_CLAIMS,
    ApiResource,
    KubeClient,
    Selection,
    crd_of,
    resource_of,
)
from asoreconcile.kube.config import load

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
WARM_UP = 20
# By name: our program, theirs, and the kinds of what is made and of what follows.
CASES = {
    "mirror": (
        EXAMPLES / "mirror_config_maps.py",
        HERE / "peers" / "kopf_mirror.py",
        (CONFIG_MAPS, "alpha"),
        (CONFIG_MAPS, "beta"),
    ),
    "ephemeral-volumes": (
        EXAMPLES / "ephemeral_volumes.py",
        HERE / "peers" / "kopf_ephemeral_volumes.py",
        (resource_of(EphemeralVolumeClaim), "alpha"),
        (PERSISTENT_VOLUME_CLAIMS, "alpha"),
    ),
}


def main() -> None:
    """Measure each case in turn, ours and kopf's one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    for name, (ours, theirs, source, follower) in CASES.items():
        least = {"asoreconcile": float("inf"), "kopf": float("inf")}
        for _ in range(given.rounds):
            for whose, file in (("asoreconcile", ours), ("kopf", theirs)):
                used = measured(command(whose, file), source, follower, given.objects)
                least[whose] = min(least[whose], used)
        for whose, file in (("asoreconcile", ours), ("kopf", theirs)):
            line = {
                "controller": name,
                "by": whose,
                "lines": code_lines(file),
                "cpu_ms_an_object": round(least[whose] * 1000, 2),
            }
            sys.stdout.write(f"{json.dumps(line)}\n")


def command(whose: str, file: Path) -> list[str]:
    """What starts a program."""
    if whose == "kopf":
        kopf = Path(sys.executable).with_name("kopf")
        return [str(kopf), "run", "-A", "--standalone", "--quiet", str(file)]
    return [sys.executable, str(file)]


def code_lines(file: Path) -> int:
    """Lines that are neither empty nor a comment; the docstring above is left out."""
    _, _, text = file.read_text().partition('"""\n')
    stripped = (line.strip() for line in text.splitlines())
    return sum(1 for line in stripped if line and not line.startswith("#"))


def measured(
    program: list[str],
    source: tuple[ApiResource, str],
    follower: tuple[ApiResource, str],
    objects: int,
) -> float:
    """Seconds of the program's CPU for each object that is made, and followed."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kubeconfig = folder / "kubeconfig"
        serve = [str(Path(sys.executable).with_name("asoreconcile")), "testserver"]
        serve += ["kube", "--kubeconfig-out", str(kubeconfig)]
        stack.enter_context(running(serve, os.environ))
        while not kubeconfig.exists():
            time.sleep(0.05)
        client = KubeClient(load(str(kubeconfig)), user_agent="bench")
        stack.callback(client.close)
        for name, labels in (("alpha", {}), ("beta", {"mirror": "yes"})):
            client.create(NAMESPACES, {"metadata": {"name": name, "labels": labels}})
        client.create(CUSTOM_RESOURCE_DEFINITIONS, crd_of(EphemeralVolumeClaim))
        there = followed(client, *follower)
        pid = stack.enter_context(
            running(program, {**os.environ, "KUBECONFIG": str(kubeconfig)})
        )
        make(client, *source, range(WARM_UP))
        wait(client, follower, there + WARM_UP)
        before = cpu_seconds(pid)
        make(client, *source, range(WARM_UP, WARM_UP + objects))
        wait(client, follower, there + WARM_UP + objects)
        return (cpu_seconds(pid) - before) / objects


@contextmanager
def running(program: list[str], environment: dict[str, str]) -> Iterator[int]:
    """A process until the end of the block; its number."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(program, env=environment, stdout=quiet, stderr=quiet)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(30)


def make(client: KubeClient, kind: ApiResource, namespace: str, numbers: range) -> None:
    """Create sources; what a kind does not know is not sent."""
    for number in numbers:
        metadata = {
            "name": f"object-{number}",
            "namespace": namespace,
            "labels": {"mirror": "yes"},
        }
        if kind is CONFIG_MAPS:
            client.create(kind, {"metadata": metadata, "data": {"text": "x" * 100}})
        else:
            client.create(kind, {"metadata": metadata, "spec": {"size": "1Gi"}})


def followed(client: KubeClient, kind: ApiResource, namespace: str) -> int:
    """How many there are."""
    return len(list(client.list_all(Selection(kind, namespace))))


def wait(client: KubeClient, follower: tuple[ApiResource, str], count: int) -> None:
    """Until so many are there, and a moment for what is written after them."""
    deadline = time.monotonic() + 120
    while followed(client, *follower) < count:
        if time.monotonic() > deadline:
            sys.exit(f"{followed(client, *follower)} of {count} were made in time")
        time.sleep(0.1)
    time.sleep(1)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process, all its threads, in seconds."""
    used = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        used += int((thread / "schedstat").read_text().split()[0])
    return used / 1e9


if __name__ == "__main__":
    main()
