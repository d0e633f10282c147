"""A real Chromium for the tests of the page.

ASORECONCILE_BROWSER names the folder that `hack/browser` makes; without it the tests
skip. Pictures are kept in `dist/ci/browser`.
"""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from madeup import NOW, MadeUp, made_up, served

FOLDER = os.environ.get("ASORECONCILE_BROWSER", "")
PICTURES = Path(__file__).parents[2] / "dist" / "ci" / "browser"
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update"),
    "--disable-sync",
)
SERIOUS = ("serious", "critical")
# The browser says these by itself of answers that tests ask for.
EXPECTED = ("Failed to load resource", "net::ERR")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser, which each test opens windows of its own in."""
    if not FOLDER:
        pytest.skip("no browser (ASORECONCILE_BROWSER, hack/browser)")
    sys.path.append(f"{FOLDER}/python")
    from playwright.sync_api import sync_playwright

    PICTURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        program = os.path.realpath(f"{FOLDER}/chromium")
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def window(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Open an address in a window; no script may fail in it, and no policy be broken."""
    contexts: list[Any] = []
    complaints: list[str] = []

    def complain(said: Any) -> None:
        if said.type == "error" and not said.text.startswith(EXPECTED):
            complaints.append(said.text)

    def call(address: str, *, now: object = None, **options: Any) -> Any:
        options = {"viewport": {"width": 1440, "height": 900}, **options}
        context = chromium.new_context(reduced_motion="reduce", **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", complain)
        if now is not None:
            page.clock.install(time=now)
        page.goto(address)
        return page

    yield call
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def world() -> Iterator[Callable[..., tuple[MadeUp, str]]]:
    """Make up objects and serve them: the objects, and their address."""
    servers: list[tuple[MadeUp, Any]] = []

    def call(count: int, **options: Any) -> tuple[MadeUp, str]:
        state = MadeUp(made_up(count), **options)
        servers.append((state, served(state)))
        return state, f"http://127.0.0.1:{servers[-1][1].server_port}/"

    yield call
    for state, server in servers:
        state.end_streams()
        server.shutdown()
        server.server_close()


def keep(page: Any, name: str) -> None:
    """Keep a picture of a window."""
    page.screenshot(path=PICTURES / f"{name}.png")


def barriers(page: Any) -> list[tuple[str, str, list[str]]]:
    """Return what axe finds that keeps people out, serious or worse."""
    page.evaluate(Path(FOLDER, "axe.min.js").read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        (one["id"], one["help"], [node["html"][:200] for node in one["nodes"]])
        for one in found["violations"]
        if one["impact"] in SERIOUS
    ]


__all__ = ["NOW", "barriers", "keep"]
