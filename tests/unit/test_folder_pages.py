"""Each folder of code has a README that names its files by what they do."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# An extension's file is named after its kind: `extensions/README.md` is for all groups.
SHIPPED = ("asoreconcile", "controllers", "cmd")
_LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def _folders():
    found = {
        path.resolve().parent for top in SHIPPED for path in (ROOT / top).rglob("*.py")
    }
    inside = [folder.relative_to(ROOT) for folder in found]
    return sorted(str(one) for one in inside if one.parts[0] in SHIPPED)


FOLDERS = _folders()
PAGES = [
    page
    for top in sorted(ROOT.glob("[a-z]*/"))
    for page in sorted(top.glob("**/README.md"))
]


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_file_of_a_folder_is_on_its_page(folder):
    page = (ROOT / folder / "README.md").read_text()
    modules = [path.name for path in (ROOT / folder).glob("*.py")]
    missing = [name for name in sorted(modules) if f"`{name}`" not in page]
    assert [name for name in missing if name != "__init__.py"] == []


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *PAGES], ids=lambda page: str(page.relative_to(ROOT))
)
def test_what_a_page_links_to_is_there(page):
    links = _LINK.findall(re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_there_are_as_many_folders_as_one_would_think():
    assert len(FOLDERS) > 30
    assert "asoreconcile/cache" in FOLDERS
    assert not any(folder.startswith("asoreconcile/azure/cmd") for folder in FOLDERS)
