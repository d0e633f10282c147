"""No pattern takes the square of a text's length, by any author.

Every pattern of the shipped modules is called as its module calls it. A pattern that is
not a constant of its module needs a reason in `_MADE_ELSEWHERE`.
"""

import ast
import importlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sources
import textgrowth

from asoreconcile.azure.catalogue import manifests
from asoreconcile.azure.catalogue.element_paths import replace_elements
from asoreconcile.azure.catalogue.ignored_fields import listed_paths
from asoreconcile.azure.catalogue.problems import _compiled
from asoreconcile.azure.reconcile.model.never_shown import _steps
from asoreconcile.azure.reconcile.model.normalization import is_same
from asoreconcile.azure.reconcile.planning.advice import _authorization, _policy
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.foreign_json import mended
from asoreconcile.kube import kubeconfig_file
from asoreconcile.resources.crds.labels import domain_mistakes, label_mistakes
from asoreconcile.resources.values import Quantity, parse_duration_text, parse_time
from asoreconcile.serving.request_head import _headers

_CALLS = frozenset(
    {"match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split"}
)
# Calls of `re` whose pattern is no constant of the module: which text they read, and
# why that may be. `module: function that calls`.
_MADE_ELSEWHERE = {
    "asoreconcile.azure.catalogue.patterns._regex": "globs of a person's settings",
    "asoreconcile.azure.catalogue.problems._compiled": (
        "strings of a spec, at most 4096 characters; the catalogue's patterns are below"
    ),
    "asoreconcile.azure.catalogue.problems._unknown": "names of at most 260 characters",
    "asoreconcile.azure.cmd.kind_names._initials": "names of the catalogue",
    "asoreconcile.azure.controllers.diagnosis.environment_checks._numbers": (
        "versions that are at most 64 characters long"
    ),
    "asoreconcile.azure.controllers.diagnosis.environment_checks.of_versions": (
        "matches at the start only"
    ),
    "asoreconcile.azure.controllers.environment.rate": "settings",
    "asoreconcile.azure.middleware.factories.message_matches": (
        "patterns of extensions, over errors of Azure of at most 16 KiB"
    ),
    "asoreconcile.azure.middleware.secret_exporters._ask": "names of our own actions",
    "asoreconcile.azure.reconcile.model.placeholders.least": "texts of our own",
    "asoreconcile.azure.reconcile.model.type_rules._utf8": "matches at the start only",
    "asoreconcile.azure.reconcile.planning.advice.advice_on": (
        "alternatives of words, over a reason of at most 1024 characters"
    ),
    "asoreconcile.azure.sql_users.dialect.queries_of": "files of our own",
    "asoreconcile.base.foreign_json.mended": "below",
    "asoreconcile.base.json_size.list_start": "text before a bracket, read from its end",
    "asoreconcile.base.jsontext._sealed": "a mark of our own",
    "asoreconcile.base.printable._json_shown": "four characters each",
    "asoreconcile.kube.conditions.check_condition": "at most 1024 characters",
    "asoreconcile.redaction.secret_registry._short_pattern": (
        "words without repetition; test_base_redaction bounds the time"
    ),
    "asoreconcile.redaction.views._characters": "one escape",
    "asoreconcile.resources.crds.labels.domain_mistakes": "below",
    "asoreconcile.resources.crds.labels.label_mistakes": "below",
    "asoreconcile.resources.crds.paths._quoted": "each match begins with a backslash",
    "asoreconcile.webhooks.server._timeout_seconds": "three digits at most",
}
# Functions that give a pattern only texts for which it is fast.
_THROUGH: dict[str, Callable[[str], object]] = {
    "asoreconcile.azure.catalogue.element_paths._ELEMENT.sub": lambda text: (
        replace_elements(text, "[]")
    ),
    "asoreconcile.azure.reconcile.model.never_shown._STEP.finditer": _steps,
    "asoreconcile.azure.reconcile.planning.advice._POLICY.findall": _policy,
    "asoreconcile.resources.values._PART.findall": lambda text: _parsed(
        parse_duration_text, text
    ),
    "asoreconcile.serving.request_head._HEADER.findall": lambda text: _parsed(
        _headers, text.encode("latin-1", "replace") + b"\r\n"
    ),
}


def _parsed(parse: Callable[[Any], object], text: Any) -> object:
    try:
        return parse(text)
    except (ValueError, AsoreconcileError):
        return None


def _inline() -> Iterator[str]:
    """Yield the module and function of each call of `re` outside a module's constants."""
    for _, module, tree in _shipped():
        for place in tree.body:
            for node in ast.walk(place):
                if isinstance(node, ast.FunctionDef):
                    for call in ast.walk(node):
                        if (
                            isinstance(call, ast.Call)
                            and isinstance(call.func, ast.Attribute)
                            and ast.unparse(call.func.value) == "re"
                            and call.func.attr in {*_CALLS, "compile"}
                        ):
                            yield f"{module}.{node.name}"


def _shipped() -> Iterator[tuple[Path, str, ast.Module]]:
    """Yield file, name and tree of each shipped module that uses `re`, without the test
    kit, which no cluster runs.
    """
    for path in sources.modules():
        place = path.relative_to(sources.ROOT).with_suffix("")
        if "testing" in place.parts:
            continue
        tree = sources.tree(path)
        if any(
            isinstance(node, ast.Import) and any(one.name == "re" for one in node.names)
            for node in ast.walk(tree)
        ):
            inner = (
                () if place.parts[0] == "asoreconcile" else ("asoreconcile", "azure")
            )
            yield path, ".".join((*inner, *place.parts)).removesuffix(".__init__"), tree


def _uses(tree: ast.Module, name: str) -> set[str]:
    """Return the methods of a pattern that a module uses, also through a variable."""
    found = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
    }
    return found & _CALLS or {"match"}


def _patterns() -> Iterator[tuple[str, re.Pattern[str], str]]:
    for _, module, tree in _shipped():
        for name, value in vars(importlib.import_module(module)).items():
            if isinstance(value, re.Pattern):
                for how in sorted(_uses(tree, name)):
                    yield f"{module}.{name}.{how}", value, how


def _slow(pattern: re.Pattern[str], call: Callable[[str], object]) -> Iterator[str]:
    for text in textgrowth.texts(pattern):
        times = textgrowth.growth(call, text)
        if times > textgrowth.MOST_GROWTH:
            yield f"{times:.1f} times for {text[:12]!r}..."


def test_ft3_no_pattern_grows_with_a_power_of_its_text():
    found = {}
    for name, pattern, how in _patterns():
        slow = next(
            _slow(pattern, _THROUGH.get(name) or textgrowth.caller(pattern, how)), ""
        )
        if slow:
            found[name] = slow
    assert found == {}


@pytest.mark.parametrize(
    ("pattern", "how"),
    [
        (r"(\d+\.?\d*|\.\d+)(ns|s)+", "fullmatch"),
        (r"\[[^\]]*\]", "sub"),
        (r"client '[^']*'.*?action '[^']*'.*?scope '", "search"),
        (r"(\w+)=", "findall"),
        (r"(a+)+b", "match"),
    ],
)
def test_a_slow_pattern_is_found(pattern, how):
    compiled = re.compile(pattern)
    assert next(_slow(compiled, textgrowth.caller(compiled, how)), "")


def test_each_other_call_has_a_reason():
    assert set(_inline()) == _MADE_ELSEWHERE.keys()


def test_no_pattern_of_the_catalogue_grows_with_a_power_of_its_text():
    """Authors choose the strings, and generated kinds have the patterns of Azure."""
    found = set()
    for path in (sources.ROOT / "controllers" / "kinds").rglob("*.json"):
        found |= set(re.findall(r'"pattern": ?("(?:[^"\\]|\\.)*")', path.read_text()))
    patterns = [_compiled(json.loads(one)) for one in found]
    assert len(patterns) > 50
    slow = {
        one.pattern
        for one in patterns
        if next(_slow(one, textgrowth.caller(one, "search")), "")
    }
    assert slow == set()


@pytest.mark.parametrize(
    ("call", "units"),
    [
        (domain_mistakes, ("a", "a.", "a-", "-", ".")),
        (label_mistakes, ("a", "a-", "-")),
        (lambda text: mended(text.encode()), ("\\\\", "\\ud800", "\\ud8")),
        (
            lambda text: _parsed(listed_paths, text),
            (",", "[", "[,", "],", "a[b=c],", "\n"),
        ),
        (lambda text: _parsed(parse_time, text), ("1", "2026-01-01T00:00:00.")),
        (lambda text: _parsed(Quantity, text), ("1", ".1", "1e")),
        (lambda text: is_same(text, text + "x"), ("1", "P1D", "1.", " ", "/", "[")),
        (_authorization, ("client '", "perform action '", "scope '")),
    ],
)
def test_no_other_parser_grows_with_a_power_of_its_text(call, units):
    for unit in units:
        text = (unit * textgrowth.FULL)[: textgrowth.FULL]
        assert textgrowth.growth(call, text) <= textgrowth.MOST_GROWTH, unit


@pytest.mark.parametrize("loader", [manifests._Loader, kubeconfig_file._Loader])
def test_no_pattern_of_a_yaml_scalar_grows_with_a_power_of_its_text(loader):
    """A loader matches each scalar of a file, to know its type."""
    resolvers = loader.yaml_implicit_resolvers.values()
    patterns = {pattern for found in resolvers for _, pattern in found}
    slow = {
        one.pattern
        for one in patterns
        if next(_slow(one, textgrowth.caller(one, "match")), "")
    }
    assert patterns
    assert slow == set()


def test_no_pattern_of_an_extension_grows_with_a_power_of_its_text():
    """They are searched in errors of Azure, which quote what authors write."""
    text = (sources.ROOT / "extensions" / "cases.json").read_text()
    rows = re.findall(r'"message_matches": \[(.*?)\]', text)
    patterns = [
        re.compile(json.loads(one))
        for row in rows
        for one in re.findall(r'"(?:[^"\\]|\\.)*"', row)
    ]
    assert patterns
    slow = {
        one.pattern
        for one in patterns
        if next(_slow(one, textgrowth.caller(one, "search")), "")
    }
    assert slow == set()
