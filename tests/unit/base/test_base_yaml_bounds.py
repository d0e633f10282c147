"""YAML that stands for too much is refused before its values are made."""

import time

import pytest
import yaml

from asoreconcile.base.yaml_bounds import YamlSizeError, check_yaml

LOADERS = {
    "C": getattr(yaml, "CSafeLoader", yaml.SafeLoader),
    "Python": yaml.loader.SafeLoader,
}


def laughs(levels, width=9):
    lines = ["a0: &a0 [" + ", ".join(["lol"] * width) + "]"]
    for at in range(1, levels):
        again = ", ".join([f"*a{at - 1}"] * width)
        lines.append(f"a{at}: &a{at} [{again}]")
    return "\n".join(lines)


def merges(levels):
    first = "a0: &a0 {k0: 1}"
    rest = (
        f"a{at}: &a{at} {{<<: [*a{at - 1}, *a{at - 1}], k{at}: 1}}"
        for at in range(1, levels)
    )
    return "\n".join([first, *rest])


@pytest.fixture(params=LOADERS)
def loader(request):
    return LOADERS[request.param]


@pytest.mark.parametrize(
    "text",
    [
        laughs(10),
        merges(40),
        "a: &a " + "x" * 100_000 + "\nb: [" + ", ".join(["*a"] * 1000) + "]",
        "a: &a {b: *a}",
        "&a [[*a]]",
        "[" * 100_000,
        "- " * 2000 + "x",
        "{a: " * 2000 + "1" + "}" * 2000,
    ],
    ids=["laughs", "merges", "text", "loop", "loops", "brackets", "dashes", "braces"],
)
def test_a_bomb_is_refused_at_once(loader, text):
    began = time.process_time()
    with pytest.raises(YamlSizeError):
        check_yaml(text, loader)
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a: &a [1, 2]\nb: [*a, *a]\nc: {<<: &m {x: 1}, y: 2}\nd: *m",
        "--- &a x\n--- [1]\n--- {a: b}",
        laughs(4),
        "[" * 900 + "]" * 900,
    ],
    ids=["empty", "anchors", "documents", "some laughs", "levels"],
)
def test_what_people_write_passes(loader, text):
    check_yaml(text, loader)


def test_very_many_documents_or_values_are_refused(monkeypatch, loader):
    monkeypatch.setattr("asoreconcile.base.yaml_bounds._MOST_DOCUMENTS", 5)
    monkeypatch.setattr("asoreconcile.base.yaml_bounds._MOST_VALUES", 50)
    with pytest.raises(YamlSizeError, match="documents"):
        check_yaml("--- a\n" * 6, loader)
    with pytest.raises(YamlSizeError, match="values"):
        check_yaml("[" + "1," * 60 + "1]", loader)
