"""The crash and race matrix as a table: the write with a fault, its kind, and changes.

A cell is one lifecycle (`trial.Trial`) in which one write fails. Cells have names, so
that a failed cell can be run again by its name:

    hack/matrix 05-put-server/lost/edited/1
"""

import random
from collections import Counter
from itertools import product

import attrs

# Every write of a lifecycle in its order, with the names of `taps`. A test compares
# them.
WRITES = (
    "claim group",
    "mark server",
    "put group",
    "note group",
    "status group",
    "claim server",
    "put server",
    "record server",
    "status server",
    "export Secret",
    "export ConfigMap",
    "clear server",
    "status server",
    "put server",
    "record server",
    "status server",
    "clear server",
    "status server",
    "delete server",
    "record server",
    "status server",
    "release server",
    "delete group",
    "record group",
    "status group",
    "release group",
)

FAULTS = (
    "race",  # the change comes before the write; there is no fault
    "late",  # the change comes after the write; there is no fault
    "unsent",  # the process ends before the write
    "unrecorded",  # the process ends after it, without seeing the answer
    "lost",  # the write happens, the answer is lost, the process continues
)

CHANGES = (
    "nothing",
    "edited",
    "deleted",
    "id-removed",
    "token-removed",
    "note-removed",
    "mark-removed",
    "finalizer-stripped",
    "detached",
    "recreated",
    "rotated",
    "owner-recreated",
)
_ONLY_SERVER = {"rotated", "owner-recreated"}


@attrs.frozen
class Cell:
    """One lifecycle.

    write: index in WRITES.
    managers: if 2, another process reconciles at the moment of the fault, and then
    every other time.
    """

    write: int
    fault: str
    change: str
    managers: int

    def __str__(self) -> str:
        what = WRITES[self.write].lower().replace(" ", "-")
        return f"{self.write:02}-{what}/{self.fault}/{self.change}/{self.managers}"


def cells() -> list[Cell]:
    """Return the whole matrix."""
    return [
        Cell(write, fault, change, managers)
        for write, fault, change, managers in product(
            range(len(WRITES)), FAULTS, CHANGES, (1, 2)
        )
        if not (change in _ONLY_SERVER and WRITES[write].endswith("group"))
    ]


def sample(seed: int, count: int) -> list[Cell]:
    """Return random cells, write after write, with enough of each fault and change."""
    draw = random.Random(seed)
    left = cells()
    draw.shuffle(left)
    seen: Counter[tuple[int, object]] = Counter()
    chosen: list[Cell] = []
    for number in range(count):
        here = [cell for cell in left if cell.write == number % len(WRITES)]
        cell = min(here, key=lambda c: sum(seen[trait] for trait in _traits(c)))
        left.remove(cell)
        chosen.append(cell)
        seen.update(_traits(cell))
    return chosen


def _traits(cell: Cell) -> list[tuple[int, object]]:
    return list(enumerate(attrs.astuple(cell)))


def named(text: str) -> list[Cell]:
    """Return cells by comma-separated names. Raises ValueError for an unknown name."""
    known = {str(cell): cell for cell in cells()}
    names = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := [name for name in names if name not in known]:
        message = f"no such cells: {', '.join(unknown)}"
        raise ValueError(message)
    return [known[name] for name in names]
