"""`tests/flaky.toml`: tests that failed in a run and passed twice alone.

A run adds an entry for each, to be committed; it goes away once the cause is mended.
Dates are for the reader: no result depends on them.
"""

import fcntl
import json
import os
import sys
import tomllib
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILE = Path("tests", "flaky.toml")
MOST_ENTRIES = 10
OLD_DAYS = 14
UNKNOWN = "unknown: passed twice alone, so order, load or time"
HEAD = """\
# Tests that failed in a run and passed twice alone: a defect until the cause is shown.
# hack/test adds entries; a change that mends the cause removes the entry. More than ten
# entries fail every run.
"""


@dataclass(frozen=True)
class Entry:
    """One flaky test.

    test: its pytest id. failure: first line of the failure. suspected: the cause, as
    far as it is known.
    """

    test: str
    date: date
    failure: str
    suspected: str = UNKNOWN

    def text(self) -> str:
        """Return the entry as TOML."""
        return (
            f"\n[[flaky]]\ntest = {_quoted(self.test)}\n"
            f"date = {self.date.isoformat()}\nfailure = {_quoted(self.failure)}\n"
            f"suspected = {_quoted(self.suspected)}\n"
        )


def _quoted(text: str) -> str:
    """Return a TOML string. Lone surrogates become question marks."""
    encodable = text.encode("utf-8", "replace").decode()
    return json.dumps(encodable, ensure_ascii=False).replace("\x7f", "\\u007f")


def read(root: Path) -> list[Entry]:
    """Return the entries of a checkout; there are none if the file is absent."""
    path = root / FILE
    if not path.exists():
        return []
    entries = tomllib.loads(path.read_text()).get("flaky", [])
    return [Entry(**entry) for entry in entries]


def add(root: Path, entries: list[Entry]) -> list[Entry]:
    """Add the entries whose tests have none yet, and return those.

    Two stages of a run may do so at the same time.
    """
    with (root / FILE).open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        known = {entry.test for entry in read(root)}
        new = [entry for entry in entries if entry.test not in known]
        if new:
            head = "" if file.seek(0, os.SEEK_END) else HEAD
            file.write(head + "".join(entry.text() for entry in new))
    return new


def old(entries: list[Entry], today: date) -> list[Entry]:
    """Return the entries that have been there for more than two weeks."""
    return [entry for entry in entries if (today - entry.date).days > OLD_DAYS]


def main(root: Path = ROOT, today: date | None = None) -> int:
    """Name old entries on standard error. Returns 0: a date fails nothing."""
    for entry in old(read(root), today or datetime.now(UTC).date()):
        print(f"{FILE}: since {entry.date}: {entry.test}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
