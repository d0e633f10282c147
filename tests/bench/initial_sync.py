"""First state of a large kind: seconds, peak and steady memory, collector pauses.

    hack/bench initial-sync [--objects N] [--peers-python PATH]

Once by stream and once by one long list, as servers without streams answer it from
memory, each in a process of its own; and beside them the official client, which lists
in pages and keeps what it gets. Claims, at 10,000
objects of 4.2 KB: the peak is at most 1.3 times the steady memory, an object costs at
most 4 KiB, a full collection takes less than 10 ms.
"""

import argparse
import sys

from watching.running import interpreter, measured, served, show


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--peers-python", default=sys.executable)
    options = parser.parse_args()
    count = options.objects
    for how, said in (("streamed", []), ("listed", ["--lists"])):
        with served(str(count), "--listed", *said) as url:
            labels = measured("footprint", url, count)
        show({"benchmark": f"initial sync, {how}", "objects": count, **labels})
    line: dict[str, object] = {"benchmark": "initial sync: kubernetes"}
    python = interpreter("kubernetes", options.peers_python)
    if python is None:
        show({**line, "skipped": "kubernetes is not installed"})
        return
    with served(str(count), "--listed", "--lists") as url:
        labels = measured("official_list", url, count, python=python)
    show({**line, "objects": count, **labels})


if __name__ == "__main__":
    main()
