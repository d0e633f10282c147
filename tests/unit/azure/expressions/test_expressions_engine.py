"""The language: what expressions give, and how wrong ones are refused.

Cases follow the language that ASO documents, with a schema that has every shape of field
and every name that needs escaping.
"""

import pytest

pytest.importorskip("cel_expr_python", reason="the CEL engine is an extra")

from asoreconcile.azure.expressions.engine import Engine, EvaluationError
from asoreconcile.base import jsontext

TEXT = {"type": "string"}
ANY = {"x-kubernetes-preserve-unknown-fields": True}
ODD_NAMES = (
    "underscore_field",
    "underscore__field",
    "underscore__field__",
    "_start",
    "dash-field",
    "dash-__field",
    "odata.type",
    "slash/field",
    "const",
    "break",
    "true",
    "false",
    "in",
    "null",
    "int",
    "string",
    "endsWith",
    "namespace",
)


def typed(**properties):
    return {"type": "object", "properties": properties}


SCHEMA = typed(
    apiVersion=TEXT,
    kind=TEXT,
    metadata={"type": "object"},
    spec=typed(
        location=TEXT,
        owner=typed(name=TEXT),
        count={"type": "integer"},
        ratio={"type": "number"},
        enabled={"type": "boolean"},
        names={"type": "array", "items": TEXT},
        rules={"type": "array", "items": typed(name=TEXT, port={"type": "integer"})},
        grid={"type": "array", "items": {"type": "array", "items": TEXT}},
        tags={"type": "object", "additionalProperties": TEXT},
        limits={"type": "object", "additionalProperties": typed(max=TEXT)},
        untyped={"type": "object", "additionalProperties": ANY},
        **dict.fromkeys(ODD_NAMES, TEXT),
    ),
    status=typed(id=TEXT, location=TEXT, absent=typed(deep=TEXT)),
)
ID = (
    "/subscriptions/sub/resourceGroups/rg/providers/Microsoft.Sql/servers/srv"
    "/databases/db"
)
OBJECT = {
    "apiVersion": "example.azure.com/v1",
    "kind": "Example",
    "metadata": {
        "name": "thing",
        "namespace": "default",
        "generation": 3,
        "annotations": {"fruit": "yes", "pizza": "no"},
    },
    "spec": {
        "location": "eastus",
        "owner": {"name": "rg"},
        "count": 7,
        "ratio": 0.5,
        "enabled": True,
        "names": ["hello", "world", "help"],
        "rules": [{"name": "a", "port": 80}, {"name": "b", "port": 443}],
        "grid": [["a", "b"], ["c"]],
        "tags": {"team": "red", "tier": "gold"},
        "limits": {"cpu": {"max": "4"}},
        "untyped": {"mode": "Test", "list": ["x"], "deep": {"n": 7, "on": True}},
        **{name: f"<{name}>" for name in ODD_NAMES},
    },
    "status": {"id": ID, "location": "eastus"},
}
SECRETS = {"pizza": "pepperoni", "key-1": "k1"}


@pytest.fixture(scope="module")
def engine():
    return Engine(SCHEMA)


@pytest.fixture(scope="module")
def evaluate(engine):
    message = engine.message(OBJECT)
    return lambda text, **secrets: engine.compile(text).evaluate(
        message, secrets or SECRETS
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"Hello"', "Hello"),
        ('"Hello, " + self.spec.location', "Hello, eastus"),
        ("self.kind + self.apiVersion", "Exampleexample.azure.com/v1"),
        ("self.metadata.name", "thing"),
        ("self.metadata.annotations", {"fruit": "yes", "pizza": "no"}),
        ("self.metadata.annotations['pizza']", "no"),
        ("string(self.metadata.generation)", "3"),
        ("{'a': self.spec.owner.name, 'b': 'c'}", {"a": "rg", "b": "c"}),
        ("string(self.spec.count) + string(self.spec.enabled)", "7true"),
        ("string(self.spec.ratio)", "0.5"),
        ("self.spec.names.filter(a, a.startsWith('hel')).join('-')", "hello-help"),
        ("self.spec.rules.map(r, r.name + string(r.port)).join()", "a80b443"),
        ("self.spec.rules[1].name", "b"),
        ("string(self.spec.grid[0][1])", "b"),
        ("self.spec.tags.team", "red"),
        ("self.spec.tags", {"team": "red", "tier": "gold"}),
        ("self.spec.limits.cpu.max", "4"),
        ("string(self.spec.untyped.mode)", "Test"),
        ("string(self.spec.untyped.list[0])", "x"),
        ("string(self.spec.untyped.deep.n)", "7"),
        ("self.spec.names.exists(n, n == 'world') ? 'y' : 'n'", "y"),
        ("self.spec.names.all(n, n.size() == 5) ? 'y' : 'n'", "n"),
        ("size(self.spec.names) == 3 ? 'y' : 'n'", "y"),
        ("self.spec.location.matches('^east.*') ? 'y' : 'n'", "y"),
        ("timestamp('2024-05-06T23:30:00Z').getHours() == 23 ? 'utc' : 'n'", "utc"),
        ("r'C:\\d' + '''é'''", "C:\\dé"),
        # Numbers of different types compare
        ("self.spec.count < 7.5 ? 'y' : 'n'", "y"),
        ("self.spec.ratio <= self.spec.count ? 'y' : 'n'", "y"),
        ("2u > 1 && 2 >= 2u && 1.5 < 2u ? 'y' : 'n'", "y"),
        ("'a' < 'b' && duration('1s') < duration('1m') ? 'y' : 'n'", "y"),
        # The extension of strings
        ("'%s:%d:%.1f:%s'.format([self.spec.location, 7, 0.5, true])", "eastus:7:0.5:true"),
        ("'%x %b %o'.format([255, 5, 8])", "ff 101 10"),
        ("'a,b'.split(',')[1]", "b"),
        ("'abc'.charAt(1) + string('abcabc'.lastIndexOf('b'))", "b4"),
        ("string('abcabc'.indexOf('c'))", "2"),
        ("' Ab '.trim().lowerAscii() + 'x'.upperAscii()", "abX"),
        ("'aXbX'.replace('X', '-') + 'aXbX'.replace('X', '', 1)", "a-b-abX"),
        ("'hello'.substring(1, 3) + 'abc'.reverse()", "elcba"),
        ("strings.quote('a\"b')", '"a\\"b"'),
        # Optionals
        ("self.spec.tags.?none.orValue('default')", "default"),
        ("self.spec.?location.orValue('default')", "eastus"),
        ("self.spec.names[?9].orValue('out')", "out"),
        ("self.spec.?location.optMap(x, x + x).value()", "eastuseastus"),
        ("{'a': 'b', ?'c': self.spec.tags.?none}", {"a": "b"}),
        ("self.status.?absent.deep.hasValue() ? 'y' : 'n'", "n"),
        ("secret.?none.or(secret.?pizza).value()", "pepperoni"),
        # Comprehensions of two variables
        ("self.spec.tags.transformMap(k, v, k + v)", {"team": "teamred", "tier": "tiergold"}),
        ("self.spec.tags.transformMap(k, v, k == 'team', v)", {"team": "red"}),
        ("self.spec.tags.transformMapEntry(k, v, {v: k})", {"red": "team", "gold": "tier"}),
        ("self.spec.names.transformList(i, n, string(i) + n).join(',')", "0hello,1world,2help"),
        ("self.spec.names.transformMap(i, n, n).all(i, n, i < 3) ? 'y' : 'n'", "y"),
        ("self.spec.names.existsOne(i, n, n == 'world' && i == 1) ? 'y' : 'n'", "y"),
        ("{'a': 'b'}.transformMap(k, v, {'x': v}.transformMap(l, w, w + k).x)", {"a": "ba"}),
        # Names that need escaping
        ("self.spec.underscore_field", "<underscore_field>"),
        ("self.spec.underscore__underscores__field", "<underscore__field>"),
        ("self.spec.underscore__underscores__field__underscores__", "<underscore__field__>"),
        ("self.spec._start", "<_start>"),
        ("self.spec.dash__dash__field", "<dash-field>"),
        ("self.spec.dash__dash____underscores__field", "<dash-__field>"),
        ("self.spec.odata__dot__type", "<odata.type>"),
        ("self.spec.slash__slash__field", "<slash/field>"),
        ("self.spec.const + self.spec.break", "<const><break>"),
        ("self.spec.__true__ + self.spec.__false__", "<true><false>"),
        ("self.spec.__in__ + self.spec.__null__", "<in><null>"),
        ("self.spec.int + self.spec.string", "<int><string>"),
        ("self.spec.endsWith + self.spec.namespace", "<endsWith><namespace>"),
        # Absent fields read as zero values
        ("'<' + self.status.absent.deep + '>'", "<>"),
        ("string(size(self.spec.names.filter(n, false)))", "0"),
        ("has(self.status.absent) ? 'y' : 'n'", "n"),
        ("has(self.status.absent.deep) ? 'y' : 'n'", "n"),
        ("has(self.spec.location) ? 'y' : 'n'", "y"),
        ("'<' + aso.parseResourceId('/subscriptions/s').location + '>'", "<>"),
    ],
)  # fmt: skip
def test_an_expression_gives_its_value(evaluate, text, expected):
    assert evaluate(text) == expected


def test_map_entries_that_collide_fail(evaluate):
    with pytest.raises(EvaluationError, match="given twice"):
        evaluate("self.spec.tags.transformMapEntry(k, v, {'same': v})")


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("name", "db"),
        ("parent.name", "srv"),
        ("parent.parent.resourceType.type", "resourceGroups"),
        ("subscriptionId", "sub"),
        ("resourceGroupName", "rg"),
        ("resourceType.namespace", "Microsoft.Sql"),
        ("resourceType.type", "servers/databases"),
        ("parent.parent.parent.name", "sub"),
    ],
)
def test_parse_resource_id(evaluate, part, expected):
    assert evaluate(f"aso.parseResourceId(self.status.id).{part}") == expected


def test_parse_resource_id_refuses_what_is_none(evaluate):
    with pytest.raises(EvaluationError, match="starts with a slash"):
        evaluate("aso.parseResourceId(self.spec.location).name")


@pytest.mark.parametrize("levels", [25, 33, 60, 150, 5000])
@pytest.mark.parametrize("make", ['{"a":', "["], ids=["objects", "lists"])
def test_what_is_nested_deep_is_no_trouble_to_who_does_not_ask_for_it(levels, make):
    end = "}" if make.startswith("{") else "]"
    deep = jsontext.loads(make * levels + "1" + end * levels)
    obj = {"metadata": {"name": "x"}, "spec": {"anything": deep, "location": "l"}}
    engine = Engine({**typed(metadata={}, spec=typed(location=TEXT, anything=ANY))})
    message = engine.message(obj)
    assert engine.compile("self.spec.location").evaluate(message, {}) == "l"
    step = ".a" if end == "}" else "[0]"
    near = "type(self.spec.anything" + step * 20 + ") == null_type ? 'none' : 'some'"
    assert engine.compile(near).evaluate(message, {}) == "some"
