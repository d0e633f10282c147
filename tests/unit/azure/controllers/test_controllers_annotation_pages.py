"""Texts about annotations in pages, the chart, `manager --help` and settings."""

import re
from enum import Enum

import annotations as made
import attrs
import pytest
import sources

from asoreconcile.azure.controllers.settings import (
    KNOWN,
    Settings,
    SettingsError,
    from_environment,
)
from asoreconcile.azure.reconcile.model.annotation_row import Annotation, any_text
from asoreconcile.azure.reconcile.model.annotation_table import TABLE

DOCS = sources.ROOT / "deploy" / "docs"
WITH_SETTING = [row for row in TABLE.rows if row.setting]


def test_pages_chart_and_help_say_what_the_rows_say():
    for path, text in made.files(TABLE.rows):
        assert text == (sources.ROOT / path).read_text(), f"hack/annotations: {path}"


def test_a_new_row_is_on_the_page_and_in_the_help():
    row = Annotation(
        "asoreconcile/made-up-speed",
        says="how fast the resource turns",
        values="`slow` or `fast`",
        effect="the resource stands still",
        parse=any_text,
        setting="ASORECONCILE_MADE_UP_SPEED",
        default="slow",
    )
    rows = (*TABLE.rows, row)
    assert "| `slow` or `fast` | how fast the resource turns |" in made.table(rows)
    text = (sources.ROOT / made.HELP).read_text()
    told = " ".join(made.with_help(text, rows).split())
    assert "ASORECONCILE_MADE_UP_SPEED (slow; asoreconcile/made-up-speed)" in told
    chart = made.with_chart('# Old.\nmadeUpSpeed: ""\n', [row])
    assert "Old" not in chart
    assert "for objects without asoreconcile/made-up-speed: how fast" in chart


def test_each_section_that_a_row_names_is_there():
    for row in TABLE.rows:
        page, _, anchor = row.section.partition("#")
        text = (DOCS / (page or "ownership.md")).read_text()
        titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        slugs = {
            re.sub(r"[^a-z0-9 -]", "", one.lower()).replace(" ", "-") for one in titles
        }
        assert not row.section or anchor in slugs


def test_the_page_about_security_says_what_another_value_can_do():
    (section,) = re.findall(
        r"## Who may write which annotation\n(.*?)\n## ",
        (DOCS / "security.md").read_text(),
        re.DOTALL,
    )
    reach = (DOCS / "security.md").read_text()
    for row in TABLE.rows:
        assert f"`{row.name}" in section or f"`{row.name}" in reach


def test_each_setting_of_a_row_has_its_default_and_refuses_wrong_values():
    fields = {
        field.metadata["name"]: field
        for field in attrs.fields(Settings)
        if "name" in field.metadata
    }
    for row in WITH_SETTING:
        assert row.setting in KNOWN
        default, expected = fields[row.setting].default, row.default
        if isinstance(default, bool):
            expected = isinstance(expected, Enum) and expected.value == "true"
        assert default == expected
        wrong = {"POD_NAMESPACE": "ns", row.setting: "no such value["}
        with pytest.raises(SettingsError, match=row.setting):
            from_environment(wrong)


def test_a_path_that_no_built_in_kind_has_is_a_notice():
    paths = "spec.tags.a, spec.tagz.a"
    made = from_environment(
        {"POD_NAMESPACE": "ns", "ASORECONCILE_IGNORE_FIELDS": paths}
    )
    (notice,) = [one for one in made.notices if "IGNORE_FIELDS" in one]
    assert "no kind has a field 'spec.tagz.a'; did you mean tags?" in notice
