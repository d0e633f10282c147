"""Whole controllers beside the same ones by kopf and in Go: lines, CPU, memory.

hack/bench controllers [--objects N] [--rounds N] [--server embedded|real] [--only NAME]

Each program is a process beside an API server in others; sources are made one by one,
and the process's CPU (user and system, of all its threads) is divided by them. Programs
of a case run in turn, round by round; the least of the rounds counts. Go programs are
built from gopeers, where Go is there; `real` needs KUBEBUILDER_ASSETS.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path

import attrs

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))

from ephemeral_volumes import EphemeralVolumeClaim
from memcached import Memcached
from peers import go_programs

from asoreconcile import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    NAMESPACES,
    PERSISTENT_VOLUME_CLAIMS,
    ApiResource,
    JsonObject,
    KubeClient,
    NotFoundError,
    ObjectKey,
    Selection,
    crd_of,
    resource_of,
)
from asoreconcile.kube.config import load
from asoreconcile.testing import envtest

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
WARM_UP = 20
_LIMIT_SECONDS = 240.0


@attrs.frozen
class Case:
    """A controller, by name what it is written with, and what is made and follows.

    source, follower: their kinds. is_copied: followers are in another namespace.
    needs_real: programs that the embedded server is not enough for: it takes no
    protobuf of workloads. is_done: whether the program is done with a source.
    """

    programs: Mapping[str, Path]
    source: ApiResource
    follower: ApiResource
    body: JsonObject
    is_copied: bool = False
    needs_real: frozenset[str] = frozenset()
    is_done: Callable[[JsonObject], bool] = lambda _: True


def _is_available(cache: JsonObject) -> bool:
    conditions = cache.get("status", {}).get("conditions", [])
    return any(one["status"] == "True" for one in conditions)


CASES = {
    "mirror": Case(
        {
            "asoreconcile": EXAMPLES / "mirror_config_maps.py",
            "kopf": HERE / "peers" / "kopf_mirror.py",
            "controller-runtime": HERE / "gopeers" / "mirror",
        },
        CONFIG_MAPS,
        CONFIG_MAPS,
        {"data": {"text": "x" * 100}},
        is_copied=True,
    ),
    "memcached": Case(
        {
            "asoreconcile": EXAMPLES / "memcached.py",
            "controller-runtime": HERE / "gopeers" / "memcached",
        },
        resource_of(Memcached),
        DEPLOYMENTS,
        {"spec": {"size": 2}},
        needs_real=frozenset({"controller-runtime"}),
        is_done=_is_available,
    ),
    "ephemeral-volumes": Case(
        {
            "asoreconcile": EXAMPLES / "ephemeral_volumes.py",
            "kopf": HERE / "peers" / "kopf_ephemeral_volumes.py",
        },
        resource_of(EphemeralVolumeClaim),
        PERSISTENT_VOLUME_CLAIMS,
        {"spec": {"size": "1Gi"}},
    ),
}


def main() -> None:
    """Measure each case in turn, its programs one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--server", choices=("embedded", "real"), default="embedded")
    parser.add_argument("--only", choices=tuple(CASES), action="append")
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        built = go_programs()
        kubeconfig = stack.enter_context(serving(given.server, folder))
        client = KubeClient(load(str(kubeconfig)), user_agent="bench")
        stack.callback(client.close)
        prepare(client)
        for name in given.only or CASES:
            case = CASES[name]
            found: dict[str, list[tuple[float, float]]] = {}
            for number in range(given.rounds):
                for whose, source in case.programs.items():
                    if given.server != "real" and whose in case.needs_real:
                        continue
                    program = command(whose, source, built)
                    if program is not None:
                        process = running(program, with_kubeconfig(kubeconfig))
                        place = Place(client, case, f"{name}-{number}-{whose}")
                        seen = measured(process, place, given.objects)
                        found.setdefault(whose, []).append(seen)
            for whose, rounds in found.items():
                line = {
                    "controller": name,
                    "by": whose,
                    "server": given.server,
                    "lines": code_lines(case.programs[whose]),
                    "cpu_ms_an_object": round(min(cpu for cpu, _ in rounds) * 1000, 2),
                    "rounds": [round(cpu * 1000, 2) for cpu, _ in rounds],
                    "rss_mib": round(min(rss for _, rss in rounds)),
                }
                sys.stdout.write(f"{json.dumps(line)}\n")
                sys.stdout.flush()


def command(whose: str, source: Path, built: Path | None) -> list[str] | None:
    """What starts a program; None where it is in Go, and Go is not there."""
    if whose == "kopf":
        kopf = Path(sys.executable).with_name("kopf")
        return [str(kopf), "run", "-A", "--standalone", "--quiet", str(source)]
    if whose == "controller-runtime":
        return [f"{built}/{source.name}"] if built else None
    return [sys.executable, str(source)]


def code_lines(source: Path) -> int:
    """Lines that are neither empty nor a comment, of a file or a folder of Go; without
    the docstring above, and without what was generated.
    """
    if source.is_dir():
        files = (file for file in source.glob("*.go") if "generated" not in file.name)
        text, mark = "\n".join(file.read_text() for file in files), "//"
    else:
        text, mark = source.read_text().partition('"""\n')[2], "#"
    stripped = (line.strip() for line in text.splitlines())
    return sum(1 for line in stripped if line and not line.startswith(mark))


@attrs.frozen
class Place:
    """Where a program's sources and followers are, on a server that several share."""

    client: KubeClient
    case: Case
    namespace: str

    @property
    def target(self) -> str:
        """The namespace of followers."""
        return f"{self.namespace}-copies" if self.case.is_copied else self.namespace

    @property
    def sources(self) -> Selection:
        return Selection(self.case.source, self.namespace, label_selector="mirror=yes")

    @property
    def followers(self) -> Selection:
        return Selection(self.case.follower, self.target)

    @contextmanager
    def prepared(self) -> Iterator[None]:
        """With its namespaces; emptied at the end, of what the program left."""
        self.client.create(NAMESPACES, {"metadata": {"name": self.namespace}})
        if self.case.is_copied:
            metadata = {"name": self.target, "labels": {"mirror": "yes"}}
            self.client.create(NAMESPACES, {"metadata": metadata})
        try:
            yield
        finally:
            if self.case.is_copied:  # nothing is copied there any more
                change = {"metadata": {"labels": {"mirror": None}}}
                self.client.patch(NAMESPACES, ObjectKey("", self.target), change)
            self.client.delete_all(self.sources)
            self.client.delete_all(self.followers)

    def make(self, numbers: range) -> None:
        """Create sources; until all are followed and done, and a moment for what is
        written after that.
        """
        there = self.count()
        for number in numbers:
            metadata = {
                "name": f"object-{number}",
                "namespace": self.namespace,
                "labels": {"mirror": "yes"},
            }
            self.client.create(
                self.case.source, {"metadata": metadata, **self.case.body}
            )
        wait(lambda: self.count() >= there + len(numbers), "not all was made")
        wait(
            lambda: all(map(self.case.is_done, self.client.list_all(self.sources))),
            "not all was brought in order",
        )
        time.sleep(1)

    def count(self) -> int:
        """How many followers there are."""
        return sum(1 for _ in self.client.list_all(self.followers))


def measured(
    process: AbstractContextManager[int], place: Place, objects: int
) -> tuple[float, float]:
    """Seconds of the program's CPU for each object that is made and followed, and its
    resident memory in MiB after all.
    """
    with place.prepared(), process as pid:
        place.make(range(WARM_UP))
        before = cpu_seconds(pid)
        place.make(range(WARM_UP, WARM_UP + objects))
        used = (cpu_seconds(pid) - before) / objects, resident_mib(pid)
        # While it runs: it takes its own finalizers away.
        place.client.delete_all(place.sources)
        wait(lambda: not any(place.client.list_all(place.sources)), "sources stay")
        return used


def prepare(client: KubeClient) -> None:
    """Install the kinds, and wait until they are served."""
    for cls in (EphemeralVolumeClaim, Memcached):
        client.create(CUSTOM_RESOURCE_DEFINITIONS, crd_of(cls))
        kind = resource_of(cls)
        wait(partial(is_served, client, kind), "the CRD is not served")


def with_kubeconfig(kubeconfig: Path) -> dict[str, str]:
    return {**os.environ, "KUBECONFIG": str(kubeconfig)}


@contextmanager
def serving(server: str, folder: Path) -> Iterator[Path]:
    """An API server of the kind that is asked for; its kubeconfig."""
    kubeconfig = folder / "kubeconfig"
    if server == "real":
        with envtest.running(Path(os.environ["KUBEBUILDER_ASSETS"])) as real:
            real.write_kubeconfig(kubeconfig)
            yield kubeconfig
        return
    serve = [str(Path(sys.executable).with_name("asoreconcile")), "testserver"]
    serve += ["kube", "--kubeconfig-out", str(kubeconfig)]
    with running(serve, os.environ):
        wait(kubeconfig.exists, "the server does not start")
        yield kubeconfig


@contextmanager
def running(program: list[str], environment: Mapping[str, str]) -> Iterator[int]:
    """A process until the end of the block; its number."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(
        program, env=dict(environment), stdout=quiet, stderr=quiet
    )
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(30)


def is_served(client: KubeClient, kind: ApiResource) -> bool:
    """Whether a kind can be listed."""
    try:
        list(client.list_all(kind))
    except NotFoundError:
        return False
    return True


def wait(is_true: Callable[[], bool], otherwise: str) -> None:
    """Until something is true, for as long as a measurement may take."""
    deadline = time.monotonic() + _LIMIT_SECONDS
    while not is_true():
        if time.monotonic() > deadline:
            sys.exit(f"after {_LIMIT_SECONDS:.0f} s {otherwise}")
        time.sleep(0.1)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process, all its threads and those that ended."""
    return time.clock_gettime((~pid << 3) | 2)  # Linux's clock of a process


def resident_mib(pid: int) -> float:
    """Its resident memory, of Linux's pages."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    main()
