"""The field's words and no private ones: what names in the shipped code do not say.

Someone who knows controller-runtime and client-go searches for "in flight", "leader
election" or "requeue", and must find it.
"""

import ast
import re
from collections import defaultdict

import sources

# A word that no name contains -> the field's.
PRIVATE = {
    "agenda": "queue state",
    "begun": "started, recent writes",
    "befallen": "apply a fault",
    "dress": "renderer",
    "estate": "simulation, manifests",
    "glance": "read",
    "glances": "read set",
    "greet": "handshake",
    "intake": "event sources, decoding",
    "introduce": "add",
    "keepsake": "what the store keeps by name",
    "keepsakes": "what the store keeps by name",
    "knob": "control",
    "knobs": "controls",
    "lifeline": "parent watch",
    "lives": "external deletion",
    "mishap": "injected fault",
    "mishaps": "injected faults",
    "namesakes": "objects with one ARM id",
    "pulse": "probe",
    "remedies": "watch errors",
    "roster": "registry",
    "standby": "warm-up",
    "surroundings": "local cluster",
    "tell": "distribute, emit, report",
    "tenure": "lease fence",
    "told": "message, reported, injected",
    "turns": "fair share, throttle, parent writes",
    "unattended": "unclaimed",
    "untold": "pending",
    "workforce": "worker pool",
}
# A module's name -> the one folder that has it: a name says what the file is about,
# the folder whose.
ONE_MODULE = {"certificates.py": "asoreconcile/base", "turns.py": "", "pulse.py": ""}


def _names(tree):
    """Each name that a module gives something."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def _words(name):
    return {word.lower() for word in re.findall("[A-Z]?[a-z]+|[A-Z]+", name)}


def _private_names(tree):
    return sorted(
        {
            f"{name}: {PRIVATE[word]}"
            for name in _names(tree)
            for word in _words(name) & PRIVATE.keys()
        }
    )


def test_no_name_is_a_private_word():
    found = defaultdict(list)
    for path in sources.modules():
        if private := _private_names(sources.tree(path)):
            found[str(path.relative_to(sources.ROOT))] = private
    assert dict(found) == {}


def test_a_private_word_is_found_wherever_it_is_a_name():
    text = (
        "class GlanceSet:\n"
        "    def tell_us(self, told): self._knobs = told\n"
        "for mishap in (): pass\n"
        "stolen = told_off = 1\n"
    )
    found = {line.partition(":")[0] for line in _private_names(ast.parse(text))}
    assert found == {"GlanceSet", "tell_us", "told", "_knobs", "mishap", "told_off"}


def test_a_module_is_named_once_where_its_name_had_several_meanings():
    for name, folder in ONE_MODULE.items():
        found = [
            str(p.parent.relative_to(sources.ROOT))
            for p in sources.modules()
            if p.name == name
        ]
        assert found == ([folder] if folder else [])
