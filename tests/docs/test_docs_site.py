"""The layout of the documentation's site: pages, links, and the reference."""

import json
import re
import shutil
import subprocess

import click
import docs
import docs_man
import pytest
import yaml
from blocks import HOME, ROOT
from click.testing import CliRunner

import asoreconcile
from asoreconcile.azure.cmd.asoctl import main as asoctl
from asoreconcile.azure.cmd.asoreconcile import main as asoreconcile_command
from asoreconcile.azure.cmd.lazy_group import HELP_NAMES
from asoreconcile.azure.reconcile.planning.advice import ADVICE


@pytest.fixture(scope="module")
def staged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs") / "pages"
    docs.stage(folder)
    return folder


def named_in(nav):
    for entry in nav:
        if isinstance(entry, str):
            yield entry
        else:
            for below in entry.values():
                yield from [below] if isinstance(below, str) else named_in(below)


def test_each_page_has_its_place_in_the_menu(staged):
    _, _, text = (HOME / "mkdocs.yml").read_text().partition("\nnav:\n")
    nav = yaml.safe_load(text)
    laid_out = {p.relative_to(staged).as_posix() for p in staged.rglob("*.md")}
    named = list(named_in(nav))
    assert laid_out == set(named)
    assert len(named) == len(laid_out)


def test_links_lead_to_pages_that_are_there(staged):
    count = 0
    for page in staged.rglob("*.md"):
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page}: {target}"
                count += 1
    assert count > 40


def test_the_chains_of_kinds_are_those_of_the_command(staged):
    text = (staged / "extensions" / "chains.md").read_text()
    done = CliRunner().invoke(asoctl, ["extensions", "list", "-o", "json"])
    listed = json.loads(done.stdout)
    assert len(listed) > 50
    for row in listed:
        links = ", ".join(f"`{link['name']}`" for link in row["links"])
        line = f"| {row['kind']} | {row['point']} | {links}, then {row['end']} |"
        assert line in text


def test_links_are_those_of_the_site():
    places = {"a/one.md": "one.md", "b/README.md": "deep/two.md"}

    def text(link):
        return docs.rewritten(f"see [two]({link})", "a/one.md", places)

    assert text("../b/README.md#part") == "see [two](deep/two.md#part)"
    assert text("../b") == "see [two](deep/two.md)"
    assert text("https://example.com/a") == "see [two](https://example.com/a)"
    assert text("../README.md") == "see two (`README.md`)"
    with pytest.raises(SystemExit, match=r"a/one.md: there is no nothing.md"):
        text("nothing.md")
    code = "```\n[x](nothing.md)\n```\n"
    assert docs.rewritten(code, "a/one.md", places) == code


def test_the_reference_has_each_public_name_once(staged):
    named = []
    for page in (staged / "reference").glob("*.md"):
        named += re.findall(
            r"^::: asoreconcile\.(\w+)$", page.read_text(), re.MULTILINE
        )
    assert sorted(named) == sorted(set(asoreconcile.__all__) - {"__version__"})  # type: ignore[attr-defined]


def test_every_command_and_option_has_its_place(staged):
    for program in (asoctl, asoreconcile_command):
        text = (staged / "commands" / f"{program.name}.md").read_text()
        for path, command in below(program, [program.name]):
            assert f"# {' '.join(path)}\n" in text
            for option in command.params:
                if not getattr(option, "hidden", False) and option.opts[0][:2] == "--":
                    assert option.opts[0] in text, (path, option.opts)


def test_every_command_and_option_is_in_its_man_page():
    pages = docs_man.man_pages()
    for program in (asoctl, asoreconcile_command):
        for path, command in below(program, [program.name]):
            text = pages["-".join(path) + ".1"]
            for option in command.params:
                if not getattr(option, "hidden", False) and option.opts[0][:1] == "-":
                    assert option.opts[-1].replace("-", "\\-") in text, (path, option)


def test_roff_prints_a_man_page_without_a_warning():
    if not (groff := shutil.which("groff")):
        pytest.skip("there is no groff here")
    for text in docs_man.man_pages().values():
        command = [groff, "-man", "-ww", "-Tutf8"]
        done = subprocess.run(
            command, input=text.encode(), capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, b"")


def test_roff_prints_each_character():
    assert docs_man._text(".a\\b -c") == "\\&.a\\eb \\-c"


def below(command, path):
    yield path, command
    context = click.Context(command, **HELP_NAMES)
    for name in getattr(command, "list_commands", lambda _: ())(context):
        yield from below(command.get_command(context, name), [*path, name])


def test_each_reason_and_alert_has_its_place(staged):
    reasons = (staged / "operator" / "reasons.md").read_text()
    assert all(f"| `{reason}` |" in reasons for reason in ADVICE)
    alerts = (staged / "operator" / "alerts.md").read_text()
    assert alerts.count("\n## Aso") > 10
    assert "{{" not in alerts


def test_each_metric_of_alerts_and_dashboard_has_its_place(staged):
    text = (staged / "operator" / "metrics.md").read_text()
    files = ROOT / "deploy/helm/asoreconcile/files"
    used = set()
    for name in ("alerts.yaml", "dashboard.json"):
        found = re.findall(
            r"\b(?:asoreconcile|azure|workqueue|controller_runtime|rest_client|informer)"
            r"_[a-z_]+(?=[\[{) ])",
            (files / name).read_text(),
        )
        used |= {re.sub("_(bucket|count|sum)$", "", one) for one in found}
    assert len(used) > 15
    assert {one for one in used if f"| `{one}` |" not in text} == set()


def test_no_page_for_users_names_a_rule(staged):
    rule = docs._RULE
    for page in staged.rglob("*.md"):
        assert not rule.findall(page.read_text()), page


def test_drawings_are_in_the_page_and_fetch_nothing(staged):
    text = (staged / "concepts" / "data-flow.md").read_text()
    assert text.count("<svg ") == 1
    assert 'aria-label="How an event becomes a call of your code"' in text
    for drawing in (HOME / "diagrams").glob("*.svg"):
        found = re.findall(r"https?://\S+", drawing.read_text())
        assert found == ['http://www.w3.org/2000/svg"'], drawing


def test_what_a_page_would_fetch_is_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<script src="https://cdn.example.com/x.js"></script><a href="https://b.c/">b</a>'
    )
    (tmp_path / "a.css").write_text("@font-face{src:url(https://f.example.com/f.woff)}")
    assert docs.fetches(tmp_path) == [
        "https://cdn.example.com/x.js",
        "https://f.example.com/f.woff",
    ]
