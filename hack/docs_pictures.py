"""For hack/docs --pictures: pictures of the page and a film of a sandbox.

All come from one run. They are kept in `asoreconcile/docs/pictures`, so that the site
builds on a machine without a browser. `made-from.txt` has the hash of the page that
they show.
"""

import hashlib
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docs_terminal import Piece, film, record

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "asoreconcile" / "docs" / "pictures"
_STAMP = "made-from.txt"
_TYPED = "asoreconcile sandbox --web"
_PATIENCE_SECONDS = 120.0
_FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
# Refused by the fault `bad-name`.
_BROKEN = """apiVersion: storage.azure.com/v1api20230101
kind: StorageAccount
metadata: {name: shopbackup2026, namespace: default}
spec:
  owner: {name: shop}
  location: westeurope
  kind: StorageV2
  sku: {name: Standard_LRS}
"""


def are_old() -> bool:
    """Return whether the page has changed since its pictures were made."""
    stamp = PICTURES / _STAMP
    return not stamp.exists() or stamp.read_text().strip() != _hash()


def _hash() -> str:
    found = hashlib.sha256()
    for path in sorted((ROOT / "cmd" / "ui" / "page").iterdir()):
        found.update(path.read_bytes())
    return found.hexdigest()


def make() -> None:
    """Run a sandbox, look at it, and write the pictures. Exits without a browser."""
    kit = subprocess.run(
        [ROOT / "hack" / "browser"], stdout=subprocess.PIPE, text=True, check=False
    )
    if kit.returncode:
        sys.exit(kit.returncode)
    folder = Path(kit.stdout.strip())
    PICTURES.mkdir(exist_ok=True)
    command = [str(Path(sys.executable).parent / "asoreconcile"), *_TYPED.split()[1:]]
    pieces: list[Piece] = []
    is_over = threading.Event()

    def watch() -> None:
        for piece in record(command):
            pieces.append(piece)
            if is_over.is_set():
                return

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        ready = r"(?<!\d)([1-9]\d*) of \1 Ready"
        address = _said(pieces, thread, r"page: (file\S+)")
        _said(pieces, thread, ready)
        end = 1 + next(n for n, one in enumerate(pieces) if re.search(ready, one.text))
        (PICTURES / "sandbox.svg").write_text(film(_TYPED, pieces[:end]))
        _photograph(folder, address)
    finally:
        is_over.set()
        thread.join()
    (PICTURES / _STAMP).write_text(_hash() + "\n")


def _said(pieces: list[Piece], thread: threading.Thread, pattern: str) -> str:
    """Wait until the command has written a pattern; return what its group found."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while thread.is_alive() and time.monotonic() < deadline:
        if found := re.search(pattern, "".join(one.text for one in list(pieces))):
            return found[1]
        time.sleep(0.1)
    sys.exit(f"hack/docs: the sandbox did not say {pattern}")


def _photograph(kit: Path, address: str) -> None:
    sys.path.append(str(kit / "python"))
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        program = str((kit / "chromium").resolve())
        browser = driver.chromium.launch(executable_path=program, args=_FLAGS)

        def window(scheme: str) -> Any:
            context = browser.new_context(
                color_scheme=scheme,
                reduced_motion="reduce",
                viewport={"width": 1280, "height": 720},
            )
            page = context.new_page()
            page.goto(address)
            page.locator("[role=treeitem]").first.wait_for()
            return page

        _story(window)
        browser.close()


def _story(window: Callable[[str], Any]) -> None:
    """Break something in the sandbox, and take the pictures."""
    page = window("light")
    page.locator("[role=treeitem]").nth(20).wait_for()
    page.screenshot(path=PICTURES / "page-graph.png")
    page.get_by_role("link", name="Sandbox").click()
    page.locator('.fault[data-name="bad-name"]').click()
    page.locator("#yaml").fill(_BROKEN)
    page.keyboard.press("Control+Enter")
    page.locator(".result.created").wait_for()
    page.screenshot(path=PICTURES / "page-sandbox.png")
    page = window("dark")
    page.locator(".card.failed, .card.warning", has_text="shopbackup").first.click()
    page.locator("#detail-panel .todo").wait_for()
    page.screenshot(path=PICTURES / "page-object.png")
