"""The charts of the architecture page are those of the code's own imports."""

import ast
import re
from collections import defaultdict
from functools import cache

import docs_diagrams
import pytest
from blocks import HOME, ROOT

PAGE = HOME / "architecture.md"
# The folders at the top of the repository that are part of the package.
LINKED = {name: f"azure/{name}" for name in ("controllers", "extensions", "cmd")}


@cache
def modules():
    """Each module by its path in the package, without `.py`."""
    found = {}
    for top, inside in {"asoreconcile": "", **LINKED}.items():
        for path in (ROOT / top).rglob("*.py"):
            if path.resolve() == path:
                name = path.relative_to(ROOT / top).with_suffix("").as_posix()
                found[f"{inside}/{name}".strip("/").removesuffix("/__init__")] = path
    return found


@cache
def imports():
    """The modules that each module imports, by path in the package."""
    known, found = modules(), defaultdict(set)
    for name, path in known.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                named = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                named = [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                continue
            for dotted in named:
                place = dotted.removeprefix("asoreconcile.").replace(".", "/")
                if place not in known:
                    place = place.rpartition("/")[0]
                if dotted.startswith("asoreconcile.") and place in known:
                    found[name].add(place)
    return found


def _is_inside(name, place):
    return name == place or name.startswith(f"{place}/")


def is_imported(importer, imported):
    """Return whether a module or a folder imports another one."""
    return any(
        _is_inside(target, imported)
        for name, targets in imports().items()
        if _is_inside(name, importer)
        for target in targets
    )


def between_folders(package):
    """The imports between the direct members of a package, without those that follow."""
    depth = package.count("/") + 1 if package else 0
    pairs = defaultdict(set)
    for name, targets in imports().items():
        for target in targets:
            if all(not package or _is_inside(one, package) for one in (name, target)):
                parts = [one.split("/")[depth : depth + 1] for one in (name, target)]
                if all(part and part != ["__init__"] for part in parts):
                    pairs[parts[0][0]].add(parts[1][0])
    for name in pairs:
        pairs[name].discard(name)
    return {(a, b) for a in pairs for b in pairs[a] if not _is_implied(pairs, a, b)}


def _is_implied(pairs, start, end):
    seen, left = set(), [one for one in pairs[start] if one != end]
    while left:
        one = left.pop()
        if one == end:
            return True
        if one not in seen:
            seen.add(one)
            left += pairs.get(one, ())
    return False


def charts_of_imports():
    text = PAGE.read_text()
    for block in text.split("```mermaid\n")[1:]:
        source = block.partition("```")[0]
        first = source.splitlines()[1].strip()
        if first.startswith("%% imports of asoreconcile"):
            package = first.removeprefix("%% imports of asoreconcile").strip(".")
            yield package.replace(".", "/"), docs_diagrams.parse(source)


CHARTS = dict(charts_of_imports())
PATHS = [
    chart
    for chart in docs_diagrams.charts(PAGE.read_text())
    if chart not in CHARTS.values()
]


@pytest.mark.parametrize("package", ["", "azure", "azure/reconcile"])
def test_a_chart_of_imports_is_that_of_the_code(package):
    drawn = {(arrow.start, arrow.end) for arrow in CHARTS[package].arrows}
    real = between_folders(package)
    assert sorted(drawn) == sorted(real), "what the code imports"


def test_every_package_is_in_the_chart():
    for package, chart in CHARTS.items():
        top = ROOT / "asoreconcile" / package
        inside = {path.parent.name for path in top.glob("*/__init__.py")}
        assert inside <= set(chart.labels), package


@pytest.mark.parametrize("chart", PATHS, ids=lambda chart: next(iter(chart.labels)))
def test_a_path_calls_what_it_imports_and_nothing_else(chart):
    places = set(modules()) | {
        name.rsplit("/", up)[0] for name in modules() for up in range(1, 4)
    }
    assert set(chart.labels.values()) <= places
    wrong = []
    for arrow in chart.arrows:
        upper, lower = chart.labels[arrow.start], chart.labels[arrow.end]
        if is_imported(upper, lower) is arrow.is_dotted:
            wrong.append(f"{upper} {'-.->' if arrow.is_dotted else '-->'} {lower}")
    assert wrong == []


def test_the_page_has_a_path_of_an_event_an_object_a_deletion_and_a_setting():
    assert len(PATHS) == 4


def test_a_chart_becomes_a_drawing_that_fetches_nothing():
    text = '```mermaid\nflowchart TD\n    a["x/a"] -->|then| b\n    a -.-> c\n```\n'
    drawn = docs_diagrams.drawn(text)
    assert drawn.count("<rect") == 3
    assert drawn.count('class="line"') == 2
    assert drawn.count("stroke-dasharray") == 1
    assert ">x/a<" in drawn
    assert ">then<" in drawn
    assert "mermaid" not in drawn


def test_what_cannot_be_drawn_is_an_error():
    with pytest.raises(ValueError, match="not a line of a chart: a ==> b"):
        docs_diagrams.parse("flowchart TD\n a ==> b\n")
    circle = docs_diagrams.parse("flowchart TD\n a --> b\n b --> a\n")
    with pytest.raises(ValueError, match="circle"):
        docs_diagrams.svg(circle)


def test_no_arrow_runs_through_a_box():
    """An arrow that passes a row has a place of its own there."""
    chart = docs_diagrams.parse("flowchart TD\n a --> b\n b --> c\n a --> c\n")
    rows, paths = docs_diagrams._rows(chart)
    assert [len(row) for row in rows] == [1, 2, 1]
    assert [len(path) for path in paths] == [2, 2, 3]


def test_no_text_of_an_arrow_is_printed_over_another():
    source = 'flowchart TD\n a -->|a long text| b["b"]\n a -->|another text| c\n'
    drawn = docs_diagrams.svg(docs_diagrams.parse(source))
    heights = re.findall(r'<text class="small" x="-?\d+" y="(\d+)"', drawn)
    assert len(set(heights)) == 2
    crowded = "flowchart TD\n" + "".join(f" a -->|{'x' * 99}| n{i}\n" for i in range(9))
    with pytest.raises(ValueError, match="no place for the text"):
        docs_diagrams.svg(docs_diagrams.parse(crowded))


def test_there_is_a_drawing_for_each_concept():
    pages = [*HOME.rglob("*.md"), *(ROOT / "deploy").rglob("*.md")]
    charts = [chart for p in pages for chart in docs_diagrams.charts(p.read_text())]
    for chart in charts:
        docs_diagrams.svg(chart)
    assert len(charts) >= 14
    for page in (HOME / "concepts").glob("*.md"):
        assert "```mermaid" in page.read_text() or ".svg)" in page.read_text(), page
