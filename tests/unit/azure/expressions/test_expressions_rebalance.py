"""Long sums are grouped in pairs, and mean what they meant."""

import pytest

pytest.importorskip("cel_expr_python", reason="the CEL engine is an extra")

from asoreconcile.azure.expressions.engine import CompileError, Engine
from asoreconcile.azure.expressions.rebalance import balanced, original_column

TEXT = {"type": "string"}
SCHEMA = {
    "type": "object",
    "properties": {
        "metadata": {},
        "spec": {"type": "object", "properties": {"location": TEXT}},
    },
}
OBJECT = {"spec": {"location": "weu"}}


@pytest.fixture(scope="module")
def engine():
    return Engine(SCHEMA)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b", "a + b\n"),
        ("1+2+3+4+5+6+7", "1+2+3+4+5+6+7\n"),
        ("1+2+3+4+5+6+7+8", "(((1+2)+(3+4))+((5+6)+(7+8\n)))"),
        ("1+2+3+4-5+6+7+8", "1+2+3+4-5+6+7+8\n"),
        ("f(1+2+3+4+5+6+7+8, 9)", "f((((1+2)+(3+4))+((5+6)+(7+8))), 9)\n"),
        ("1+2+3+4 < 5+6+7+8", "1+2+3+4 < 5+6+7+8\n"),
        ("-1+2*-3+4+5+6+7+8+9", "(((-1+2*-3)+(4+5))+((6+7)+(8+9\n)))"),
        ("'+\\'+'+r'\\'+\"+\"+'''+'+'''+a+b+c+d",
         "((('+\\'+'+r'\\')+(\"+\"+'''+'+'''))+((a+b)+(c+d\n)))"),
    ],
)  # fmt: skip
def test_only_long_sums_are_grouped(text, expected):
    assert balanced(text) == expected


@pytest.mark.parametrize("text", ["'open", "a + #", "f(" * 100 + "x" + ")" * 100])
def test_what_cannot_be_read_is_left_alone(text):
    assert balanced(text) == text


@pytest.mark.parametrize("parts", [33, 64, 500])
def test_sums_of_any_length_are_evaluated(engine, parts):
    sum_ = " + ".join(f"'{number},'" for number in range(parts))
    found = engine.compile(sum_).evaluate(engine.message(OBJECT), {})
    assert found == "".join(f"{number}," for number in range(parts))


LONG = " + ".join(["self.spec.location", "':'"] * 20)
WEU = "weu:" * 20


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{LONG} == {LONG} ? 'same' : 'other'", "same"),
        (f"self.spec.location in ['weu'] ? {LONG} : 'none'", WEU),
        (f"{{'a': {LONG}, 'b': ({LONG}).upperAscii()}}", {"a": WEU, "b": WEU.upper()}),
        (f"['x'].map(v, {LONG} + v)[0]", WEU + "x"),
        (f"self.?spec.?location.orValue('') + {LONG}", "weu" + WEU),
        (f"{LONG} // and + more", WEU),
        (f"'a' // first + (\n + {LONG}", "a" + WEU),
        (f"has(self.spec.location) && !false ? {LONG} : ''", WEU),
        (f"string({' + '.join(['1', '2 * 3', '-1'] * 20)})", "120"),
        (f"string(({' + '.join(['[1]'] * 40)}).size())", "40"),
        (f"string({' + '.join(['1.5', '0x10 + 1', '2'][i % 3 * 0] for i in range(40))})",
         "60"),
    ],
)  # fmt: skip
def test_grouping_keeps_the_meaning(engine, text, expected):
    program = engine.compile(text)
    assert program.evaluate(engine.message(OBJECT), {}) == expected


def test_complaints_name_the_place_in_the_text_as_written(engine):
    text = LONG + "\n + (self.spec.place) + 'x'"
    with pytest.raises(CompileError) as caught:
        engine.compile(text)
    assert str(caught.value).startswith("at 2:14: undefined field 'place'")
    assert text.split("\n")[1][14 - 1] == "."


def test_columns_outside_the_text_are_kept():
    assert original_column("a", "(a)", 5, 7) == 7
    assert original_column("a", "(a)", 1, -1) == -1


def test_nesting_that_is_no_sum_is_refused(engine):
    text = "(" * 40 + "'a'" + ")" * 40
    with pytest.raises(CompileError, match="nested too deeply"):
        engine.compile(text)
