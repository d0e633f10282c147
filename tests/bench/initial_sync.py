"""First state of a large kind: seconds, peak and steady memory, collector pauses.

    hack/bench initial-sync [--objects N]

Once by stream and once by one long list, as servers without streams answer it from
memory, each in a process of its own. Claims, at 10,000
objects of 4.2 KB: the peak is at most 1.3 times the steady memory, an object costs at
most 4 KiB, a full collection takes less than 10 ms.
"""

import argparse

from watching.running import measured, served, show


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=10_000)
    count = parser.parse_args().objects
    for how, options in (("streamed", []), ("listed", ["--lists"])):
        with served(str(count), "--listed", *options) as url:
            told = measured("footprint", url, count)
        show({"benchmark": f"initial sync, {how}", "objects": count, **told})


if __name__ == "__main__":
    main()
