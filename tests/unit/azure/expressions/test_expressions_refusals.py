"""Expressions that are wrong or fail: where, what, and never a secret's value."""

import pytest

pytest.importorskip("cel_expr_python", reason="the CEL engine is an extra")

from asoreconcile.azure.expressions.engine import (
    MAX_OUTPUT_BYTES,
    CompileError,
    Engine,
    EvaluationError,
)

TEXT = {"type": "string"}
SCHEMA = {
    "type": "object",
    "properties": {
        "metadata": {"type": "object"},
        "spec": {
            "type": "object",
            "properties": {
                "location": TEXT,
                "count": {"type": "integer"},
                "names": {"type": "array", "items": TEXT},
                "tags": {"type": "object", "additionalProperties": TEXT},
                "untyped": {"type": "object", "additionalProperties": {}},
            },
        },
    },
}
VALUE = "S3cret-Value"


@pytest.fixture(scope="module")
def engine():
    return Engine(SCHEMA)


def refused(engine, text):
    with pytest.raises(CompileError) as caught:
        engine.compile(text)
    return str(caught.value)


def failed(engine, text, obj=None, **secrets):
    program = engine.compile(text)
    with pytest.raises(EvaluationError) as caught:
        program.evaluate(engine.message(obj or {}), secrets)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at 1:1: Syntax error: mismatched input '<EOF>'"),
        ("this is not valid", "at 1:6: Syntax error"),
        ("self.spec.location +\n  ", "at 2:3: Syntax error"),
        ("self.spec.locaton", "at 1:10: undefined field 'locaton'; did you mean 'loc"),
        ("self.spec.zzz", "known here: count, location, names, tags, untyped"),
        ("self.this.does.not", "at 1:5: undefined field 'this'; known here: metadata"),
        ("self.spec.location + 1", "'_+_' applied to '(string, int)'"),
        ("[1, 2].join()", "no matching overload for 'join'"),
        ("other.x", "at 1:6: undeclared reference to 'other.x'; there are self, secret"),
        ("base64.encode(b'a')", "aso.parseResourceId"),
        ("self.spec.names.sort()", "undeclared reference to 'sort'"),
        ("7", "returns int, not string or map(string, string): wrap it in string("),
        ("self.spec", "returns an object, not string or map(string, string)"),
        ("self.spec.untyped.x", "returns dyn, not string"),
        ("self.spec.?location", "end it with .orValue('')"),
        ("{'a': 1}", "make each key and value of the map a string"),
        ("self.spec.names", "returns list<string>"),
    ],
)  # fmt: skip
def test_wrong_expressions_are_refused_before_they_run(engine, text, message):
    assert message in refused(engine, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("self.spec.location", "gives an empty string"),
        ("self.spec.tags", "gives an empty map"),
        ("self.spec.tags['none']", 'Key not found in map : "none"'),
        ("self.spec.names[3]", "index=3"),
        ("{'a': 'b', 'c': dyn(1)}", "not all strings"),
        ("optional.none().orValue('')", "gives an empty string"),
        ("string(1 / self.spec.count)", "divide by zero"),
    ],
)
def test_failures_on_an_object_are_explained(engine, text, message):
    assert message in failed(engine, text)


@pytest.mark.parametrize(
    "text",
    [
        "string(int(secret.key1))",
        "self.spec.tags[secret.key1]",
        "aso.parseResourceId(secret.key1).name",
        "string(timestamp(secret.key1))",
        "secret.key1.matches(secret.key1 + '[') ? 'a' : 'b'",
        "'%d'.format([secret.key1])",
        "{secret.key1: 'a', secret.key1 + '': 'b'}['x']",
        "{'a': secret.key1}.transformMapEntry(k, v, {v: v})[secret.key1 + 'x']",
    ],
)
def test_no_failure_shows_a_secret(engine, text):
    message = failed(engine, text, key1=VALUE)
    assert VALUE not in message
    assert "no more is shown, for it uses secrets" in message


def test_loops_are_bounded(engine):
    ten = "[0,1,2,3,4,5,6,7,8,9]"
    text = "self.spec.location"
    for level in range(6):
        text = f"string(size({ten}.map(v{level}, {text})))"
    assert "too many steps" in failed(engine, text)


def test_output_is_bounded(engine):
    text = "['0123456789abcdef']" + ".map(x, x + x)" * 17 + "[0]"
    message = failed(engine, text)
    assert f"more than the {MAX_OUTPUT_BYTES}" in message


@pytest.mark.parametrize(
    ("text", "names", "whole"),
    [
        ("secret.pizza", {"pizza"}, False),
        ("string(secret.pizza)", {"pizza"}, False),
        ("'%s:%s'.format([secret.pizza, secret.sauce])", {"pizza", "sauce"}, False),
        ("{'a': secret.pizza, secret.sauce: 'b'}", {"pizza", "sauce"}, False),
        ("['a', secret.pizza].exists(s, s == 'a') ? 'y' : 'n'", {"pizza"}, False),
        ("self.spec.names.map(n, n + secret.pizza)[0]", {"pizza"}, False),
        ("secret['pizza'] + secret.?sauce.orValue('')", {"pizza", "sauce"}, False),
        ("secret[?'pizza'].orValue('')", {"pizza"}, False),
        ("has(secret.pizza) || 'sauce' in secret ? 'a' : 'b'", {"pizza", "sauce"},
         False),
        ("self.spec.location", set(), False),
        ("[1].map(secret, string(secret))[0]", set(), False),
        ("['a'].map(secret, secret + secret)[0]", set(), False),
        ("secret", set(), True),
        ("secret.map(k, k)[0] + secret.pizza", {"pizza"}, True),
        ("secret[self.spec.location]", set(), True),
        ("string(dyn(secret).pizza)", set(), True),
    ],
)  # fmt: skip
def test_r9_6_secrets_are_found_where_they_are_named(engine, text, names, whole):
    use = engine.compile(text).secrets
    assert (use.names, use.whole) == (names, whole)


def test_what_does_not_fit_the_schema_is_left_out(engine):
    obj = {
        "spec": {
            "location": 5,
            "count": "many",
            "names": ["a", None, 7, "b"],
            "tags": ["no map"],
            "unknown": {"x": 1},
        }
    }
    program = engine.compile(
        "self.spec.names.join(',') + string(self.spec.count) + self.spec.location"
    )
    assert program.evaluate(engine.message(obj), {}) == "a,b0"


def test_many_programs_are_kept_within_bounds(engine):
    for number in range(600):
        program = engine.compile(f"'{number}'")
        assert program.evaluate(engine.message({}), {}) == str(number)
