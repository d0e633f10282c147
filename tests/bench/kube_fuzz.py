"""The embedded API server under broken requests: seeds that break it, requests a second.

    hack/bench kube-fuzz [--seconds N] [--seed FIRST]

One JSON line for each place that failed, with its seed, and one at the end. A seed that
found something belongs into tests/wire/test_kubeserver_fuzz.py. Exit code 1 if any did.
"""

import json
import logging
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import click
import urllib3

sys.path.insert(0, str(Path(__file__).parents[1]))

from kubeapi import kube_server, widgets_crd
from kubefuzz import attempt, send


class Failures(logging.Handler):
    """The last failure that the server logged of itself."""

    last: logging.LogRecord | None = None

    def emit(self, record: logging.LogRecord) -> None:
        self.last = record


def place(record: Any) -> str:
    """Where in the server's code it failed."""
    frames = traceback.extract_tb(record.exc_info[2])
    own = [frame for frame in frames if "/testing/" in frame.filename][-1]
    return f"{Path(own.filename).name}:{own.lineno} {record.exc_info[0].__name__}"


@click.command(help=__doc__.partition("\n")[0])
@click.option("--seconds", default=60.0, show_default=True)
@click.option("--seed", "first", default=0, show_default=True)
def main(seconds: float, first: int) -> None:
    failures = Failures()
    found: dict[Any, Any] = {}
    statuses: Counter[Any] = Counter()
    logging.getLogger("asoreconcile").addHandler(failures)
    with kube_server() as (_, client):
        client.install(widgets_crd())
        seed, until = first, time.monotonic() + seconds
        while time.monotonic() < until:
            failures.last = None
            one = attempt(seed)
            try:
                statuses[send(client, one).status] += 1
                where = failures.last and place(failures.last)
            except urllib3.exceptions.HTTPError as error:
                where = type(error).__name__
            if where and where not in found:
                found[where] = seed
                line = {"figure": "broke", "seed": seed, "at": where, "by": str(one)}
                click.echo(json.dumps(line))
            seed += 1
    more = {"unit": "1/s", "requests": seed - first, "broke": len(found)}
    value = round((seed - first) / seconds, 1)
    more["statuses"] = dict(sorted(statuses.items()))
    click.echo(json.dumps({"figure": "requests", "value": value, **more}))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
