"""The page about operation has each setting that the operator knows, and no other."""

import re
from pathlib import Path

from asoreconcile.azure.controllers.settings import KNOWN

ROOT = Path(__file__).resolve().parents[4]
PAGE = (ROOT / "deploy" / "docs" / "operations.md").read_text()
WORD = re.compile(r"`([A-Z]+(?:_[A-Z]+)+)(?:=\w+)?`")


def named(*titles):
    sections = (PAGE.partition(f"\n## {title}\n")[2] for title in titles)
    return {
        name for one in sections for name in WORD.findall(one.partition("\n## ")[0])
    }


def test_each_setting_is_on_the_page_and_no_other():
    assert named("Settings", "Credentials") == KNOWN
