"""Seeded mutants: small changes of the code, each of which some test must notice.

    hack/mutants                                  120 mutants, from a new seed
    hack/mutants --seed 7 --count 10 tests/unit   a small sample

First one run of the tests notes which test reaches which place, and how long each test
takes. Then each mutant is tried in a copy of the checkout by the tests that reach its
place, the cheap ones first, until one fails. Survivors are named; the exit code is 1 if
fewer than --least percent were noticed.

Only code in functions is changed: no test in particular reaches code that runs at
import time. A mutant that hangs counts as noticed.
"""

import argparse
import ast
import collections
import concurrent.futures
import itertools
import json
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (
    "asoreconcile/queue",
    "asoreconcile/cache",
    "asoreconcile/runtime",
    "asoreconcile/azure/arm",
    "asoreconcile/azure/reconcile",
)
TESTS = ("tests/unit", "tests/race", "tests/wire", "tests/contract", "tests/acceptance")
_NOT_COPIED = (".git", ".venv*", "__pycache__", ".*_cache", "dist", "node_modules")
_PER_FILE = 3
# Limits of the tests of one mutant: thousands of tests may reach its place.
_TESTS_SECONDS = 60.0
_MOST_TESTS = 200
_HANGS_SECONDS = 300.0
_LIMITS = ("-x", "--timeout=60", "-p", "no:randomly")
_COMPARED = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_COMPUTED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult}
# Appended to a file: notes that a test has reached a place, once for each process.
_PROBE = """

def _mutant_reached(place, seen=set()):
    import os
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if test and (place, test) not in seen:
        seen.add((place, test))
        with open(os.path.join({folder!r}, str(os.getpid())), "a") as notes:
            print(place, test, file=notes)
"""


@attrs.frozen
class Mutant:
    """One change: from `start` to `end` (bytes of the file) there is `after` instead."""

    path: str
    line: int
    start: int
    end: int
    before: str
    after: str
    is_statement: bool

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.before!r} -> {self.after!r}"


def mutants_of(path: str, source: str) -> Iterator[Mutant]:
    """Yield all mutants of a file. path: the name of the file in each mutant."""
    begins = [0, *itertools.accumulate(map(len, source.encode().splitlines(True)))]

    def mutant(node: Any, after: str) -> Mutant:
        start = begins[node.lineno - 1] + node.col_offset
        end = begins[node.end_lineno - 1] + node.end_col_offset
        before = source.encode()[start:end].decode()
        statement = isinstance(node, ast.stmt)
        return Mutant(path, node.lineno, start, end, before, after, statement)

    for function in _outermost_functions(ast.parse(source)):
        for statement in function.body:
            for node in _walk(statement):
                for after in _changes(node):
                    yield mutant(node, after)


def _outermost_functions(node: Any) -> Iterator[ast.FunctionDef]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield child
        elif isinstance(child, ast.ClassDef):
            yield from _outermost_functions(child)


def _walk(node: Any) -> Iterator[ast.AST]:
    """A node and those below it, without annotations, patterns and parts of f-strings."""
    yield node
    if isinstance(node, ast.JoinedStr):
        return
    for name, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        for child in children:
            is_code = isinstance(child, ast.AST) and not isinstance(child, ast.pattern)
            if is_code and name not in ("annotation", "returns"):
                yield from _walk(child)


def _changes(node: Any) -> Iterator[str]:
    """The texts that can take a node's place."""
    changed: ast.expr | None = None
    match node:
        case ast.Compare(ops=[op]) if type(op) in _COMPARED:
            changed = ast.Compare(node.left, [_COMPARED[type(op)]()], node.comparators)
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            changed = ast.BoolOp(other, node.values)
        case ast.UnaryOp(op=ast.Not()):
            changed = node.operand
        case ast.BinOp() if type(node.op) in _COMPUTED and not _is_text(node):
            changed = ast.BinOp(node.left, _COMPUTED[type(node.op)](), node.right)
        case ast.IfExp():
            changed = ast.IfExp(node.test, node.orelse, node.body)
        case ast.Constant(value=bool()):
            changed = ast.Constant(not node.value)
        case ast.Constant(value=int() | float() as number):
            changed = ast.Constant(number + 1)
        case ast.Call(func=ast.Name(id="min" | "max" as name)):
            opposite = ast.Name("max" if name == "min" else "min")
            changed = ast.Call(opposite, node.args, node.keywords)
        case ast.Continue():
            yield "break"
        case ast.Expr(value=ast.Call(func=func)) if "_log" not in ast.unparse(func):
            yield "pass"
        case ast.Raise() | ast.AugAssign():
            yield "pass"
        case ast.Return(value=ast.expr()) if not _is_none(node.value):
            yield "return None"
    if changed is not None:
        yield f"({ast.unparse(ast.fix_missing_locations(changed))})"


def _is_text(node: Any) -> bool:
    return any(isinstance(one, ast.JoinedStr) or _is_str(one) for one in ast.walk(node))


def _is_str(node: Any) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def _is_none(node: Any) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def drawn(folders: Iterable[str], *, seed: str, count: int) -> list[Mutant]:
    """`count` mutants, equally many of each folder as far as it has them."""
    dice = random.Random(f"mutants/{seed}")
    found = []
    for folder in folders:
        one = []
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            all_of_file = [*mutants_of(name, path.read_text())]
            one += dice.sample(all_of_file, min(_PER_FILE, len(all_of_file)))
        dice.shuffle(one)
        found.append(one)
    in_turn = itertools.chain.from_iterable(itertools.zip_longest(*found))
    return [one for one in in_turn if one is not None][:count]


class Copy:
    """A checkout of its own, in which files are changed and tests are run."""

    _times = itertools.count(1)

    def __init__(self, folder: Path) -> None:
        self.root = folder / "checkout"
        ignored = shutil.ignore_patterns(*_NOT_COPIED)
        shutil.copytree(ROOT, self.root, symlinks=True, ignore=ignored)

    def write(self, path: str, content: bytes) -> None:
        """Replace a file's content. Its time differs, so that no old bytecode is used."""
        file = self.root / path
        file.write_bytes(content)
        moment = time.time() + next(self._times)
        os.utime(file, (moment, moment))

    def restore(self, path: str) -> None:
        self.write(path, (ROOT / path).read_bytes())

    def pytest(self, *arguments: str, seconds: float | None = None) -> int | None:
        """The exit code; None if the time was over."""
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        # The copy comes before the installed package; this file is a plugin.
        paths = os.pathsep.join((str(self.root), str(Path(__file__).parent)))
        environment = {**os.environ, "PYTHONPATH": paths}
        # Each mutant is a process: all but its own file is compiled once.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment["PYTHONPYCACHEPREFIX"] = str(self.root.parent / "pycache")
        data = ROOT.parent / "shared" / "data"
        if data.exists():
            environment.setdefault("ASORECONCILE_DATA", str(data))
        process = subprocess.Popen(
            [*command, *arguments],
            cwd=self.root,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _end_session(process)


def _end_session(process: subprocess.Popen[bytes]) -> None:
    """End a process and the children that it left, which a changed program may do."""
    if process.poll() is None:
        os.killpg(process.pid, 9)
        process.wait()


def with_probes(source: bytes, places: dict[int, Mutant], folder: Path) -> bytes:
    """Source that notes which places are reached. places: mutants by their number."""
    content = source
    for number, one in sorted(places.items(), key=lambda item: -item[1].start):
        call = f"_mutant_reached({number})"
        text = content[one.start : one.end].decode()
        text = f"{call}; {text}" if one.is_statement else f"({call} or {text})"
        content = content[: one.start] + text.encode() + content[one.end :]
    return content + _PROBE.format(folder=str(folder)).encode()


def reached(
    copy: Copy, mutants: list[Mutant], tests: Sequence[str], *, workers: int
) -> tuple[list[list[str]], dict[str, float]]:
    """For each mutant's number the tests that reach it and pass, the cheapest first.

    Blocks for one run of all tests. Returns that, and the seconds of each test.
    """
    notes = copy.root.parent / "notes"
    notes.mkdir()
    by_path = collections.defaultdict(list)
    for number, one in enumerate(mutants):
        # Of two places that overlap the inner one is not probed on its own.
        by_path[one.path].append((number, one))
    owner = {}
    for path, numbered in by_path.items():
        probed: dict[int, Mutant] = {}
        for number, one in numbered:
            rival = next((n for n, p in probed.items() if _overlap(one, p)), None)
            owner[number] = number if rival is None else rival
            if rival is None:
                probed[number] = one
        copy.write(path, with_probes((ROOT / path).read_bytes(), probed, notes))
    times = copy.root.parent / "times"
    plugin = ("-p", "mutants", f"--mutant-times={times}")
    copy.pytest(*plugin, "-n", str(workers), "--dist", "worksteal", *tests)
    for path in by_path:
        copy.restore(path)
    seconds = json.loads(times.read_text())
    found = collections.defaultdict(set)
    for line in itertools.chain.from_iterable(
        note.read_text().splitlines() for note in notes.iterdir()
    ):
        place, _, test = line.partition(" ")
        if test in seconds:
            found[int(place)].add(test)
    order = seconds.__getitem__
    return [sorted(found[owner[n]], key=order) for n in range(len(mutants))], seconds


def _overlap(one: Mutant, other: Mutant) -> bool:
    return one.start < other.end and other.start < one.end


def is_noticed(
    copy: Copy, mutant: Mutant, tests: Sequence[str], seconds: dict[str, float]
) -> bool:
    """Return whether a test fails on a mutant."""
    chosen: list[str] = []
    spent = 0.0
    for test in tests[:_MOST_TESTS]:
        if chosen and spent + seconds[test] > _TESTS_SECONDS:
            break
        chosen.append(test)
        spent += seconds[test]
    if not chosen:
        return False
    source = (ROOT / mutant.path).read_bytes()
    changed = source[: mutant.start] + mutant.after.encode() + source[mutant.end :]
    copy.write(mutant.path, changed)
    try:
        return copy.pytest(*_LIMITS, *chosen, seconds=_HANGS_SECONDS) != 0
    finally:
        copy.restore(mutant.path)


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    mutants = drawn(options.folders, seed=options.seed, count=options.count)
    _say(f"mutants: seed {options.seed}, {len(mutants)} mutants")
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for number in range(options.workers):
            inner = Path(folder) / str(number)
            inner.mkdir()
            copies.put(Copy(inner))
        first = copies.get()
        tests, seconds = reached(first, mutants, options.tests, workers=options.workers)
        # Otherwise a wrong option of pytest would look like a test that fails.
        for test in sorted(seconds, key=lambda test: seconds[test])[:1]:
            if first.pytest(*_LIMITS, test, seconds=_HANGS_SECONDS) != 0:
                sys.exit(f"mutants: {test} fails on code that is not changed")
        copies.put(first)
        _say(f"mutants: {len(seconds)} tests pass unchanged")

        def noticed(number: int) -> bool:
            copy = copies.get()
            try:
                return is_noticed(copy, mutants[number], tests[number], seconds)
            finally:
                copies.put(copy)

        with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
            verdicts = [*pool.map(noticed, range(len(mutants)))]
    survivors = [n for n, is_dead in enumerate(verdicts) if not is_dead]
    for number in survivors:
        by = (
            f"{len(tests[number])} tests run it" if tests[number] else "no test runs it"
        )
        _say(f"survived: {mutants[number]} ({by})")
    share = 100 * (1 - len(survivors) / max(1, len(mutants)))
    killed = len(mutants) - len(survivors)
    _say(f"mutants: {killed} of {len(mutants)} noticed ({share:.0f} %)")
    return 1 if share < options.least else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", default=str(random.randrange(10**6)))
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--least", type=float, default=93.0, help="percent")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--in", dest="folders", action="append", metavar="FOLDER", help=str(FOLDERS)
    )
    parser.add_argument(
        "tests", nargs="*", help="default: all that do not build things"
    )
    options = parser.parse_args(arguments)
    options.folders = options.folders or FOLDERS
    options.tests = options.tests or TESTS
    return options


# As a plugin of pytest: writes how long each test took that passed.


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--mutant-times", help="where to write how long each test took")


def pytest_configure(config: Any) -> None:
    path = config.getoption("--mutant-times")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Times(Path(path)))


class _Times:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._seconds: collections.Counter[str] = collections.Counter()
        self._failed: set[str] = set()

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._seconds[report.nodeid] += report.duration
        if not report.passed:
            self._failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        passed = {t: s for t, s in self._seconds.items() if t not in self._failed}
        self._path.write_text(json.dumps(passed))


if __name__ == "__main__":
    sys.exit(main())
