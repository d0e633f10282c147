"""The library beside its peers in Python and Go, in one table.

    hack/bench peers [--events N] [--rounds N]

The official kubernetes client and kopf come from peers.txt, into a virtual environment
below .venv of their own; client-go and controller-runtime are built from gopeers, where
Go is there. All read the same streams from the same small server, ours and a peer in
turn; the best of the rounds counts, in CPU of the reading process alone.
"""

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import attrs
import import_time
from watching.running import measured, served

HERE = Path(__file__).parent
_LOCK = HERE / "peers.txt"
_LIMIT_SECONDS = 400.0


@attrs.frozen
class Row:
    """what is measured, in `unit`; ratio: ours over the peer's."""

    what: str
    unit: str
    ours: float
    peer: str
    theirs: float | None

    def text(self) -> str:
        shown = f"{self.ours:,.0f} {self.unit}"
        if self.theirs is None:
            return f"| {self.what} | {shown} | {self.peer}: skipped | |"
        theirs = f"{self.peer} {self.theirs:,.0f} {self.unit}"
        return f"| {self.what} | {shown} | {theirs} | {self.ours / self.theirs:.2f} |"


def python_of_peers() -> str:
    """An interpreter with the locked packages; made at the first use."""
    folder = HERE.parents[1] / ".venv" / "peers"
    python, stamp = folder / "bin" / "python", folder / "lock"
    wanted = _LOCK.read_text()
    if not (stamp.is_file() and stamp.read_text() == wanted):
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        hashed = ["--require-hashes", "-r", str(_LOCK)]
        subprocess.run([str(python), *install, *hashed], check=True)
        stamp.write_text(wanted)
    return str(python)


def go_programs() -> Path | None:
    """The folder of the peers in Go, built; None where Go or its modules cannot be had.

    Below .venv: what has not changed is not linked again.
    """
    if shutil.which("go") is None:
        return None
    folder = HERE.parents[1] / ".venv" / "gopeers"
    folder.mkdir(exist_ok=True)
    build = ["go", "build", "-o", f"{folder}/", "./..."]
    done = subprocess.run(build, cwd=HERE / "gopeers", check=False)
    return folder if done.returncode == 0 else None


def in_go(program: str, what: str, url: str, events: int) -> dict[str, float]:
    done = subprocess.run(
        [program, what, url, str(events)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=_LIMIT_SECONDS,
    )
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return told


def cpu(measure: Callable[[], dict[str, float]], rounds: int) -> float:
    return min(measure()["cpu_us_per_event"] for _ in range(rounds))


def watches(events: int, rounds: int, python: str, go: str | None) -> list[Row]:
    rows = []
    with served(str(events)) as url:
        peers: list[tuple[str, Callable[[], dict[str, float]] | None, int]] = [
            (
                "kubernetes",
                lambda: measured("official", url, events, python=python),
                rounds,
            ),
            ("kopf", lambda: measured("kopf_operator", url, events, python=python), 1),
            (
                "client-go",
                (lambda: in_go(go, "informer", url, events)) if go else None,
                rounds,
            ),
        ]
        for name, peer, times in peers:
            ours = cpu(lambda: measured("ours", url, events), rounds)
            theirs = cpu(peer, times) if peer else None
            rows.append(Row("CPU of a watch event", "us", ours, name, theirs))
        ours = cpu(lambda: measured("ours_controller", url, events), rounds)
        theirs = (
            cpu(lambda: in_go(go, "controller", url, events), rounds) if go else None
        )
        what = "CPU of an event and its reconcile"
        rows.append(Row(what, "us", ours, "controller-runtime", theirs))
    return rows


def imports(rounds: int, python: str) -> list[Row]:
    ours = import_time.OURS["asoreconcile, a controller's names"]
    mine = import_time.fastest(sys.executable, ours, rounds)
    rows = []
    for package in import_time.PEERS:
        theirs = import_time.fastest(python, f"import {package}", rounds)
        rows += [
            Row("CPU of the import", "ms", mine["cpu_ms"], package, theirs["cpu_ms"]),
            Row("modules of it", "", mine["modules"], package, theirs["modules"]),
        ]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    python = python_of_peers()
    built = go_programs()
    go = f"{built}/gopeers" if built else None
    rows = watches(options.events, options.rounds, python, go)
    rows += imports(options.rounds, python)
    head = ["| What | Ours | Peer | Ratio |", "|---|---|---|---|"]
    print("\n".join([*head, *(row.text() for row in rows)]))  # noqa: T201 - its output


if __name__ == "__main__":
    main()
