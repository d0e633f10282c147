"""The page in a real browser, with made-up objects."""

import sys
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from conftest import barriers, keep
from madeup import HOSTILE, NOW

SNAPSHOT = Path(__file__).parent / "page.aria.yaml"
MOST_MILLISECONDS = 100.0  # of a key or a scroll
ACTS = (
    *("arrow", "end", "home", "scroll", "far", "larger", "smaller"),
    *("search", "clear", "filter", "unfilter", "select"),
)
# Does something in the page, as often as is worth it; the milliseconds until it is drawn.
MEASURE = """async (act) => {
  const [tree, graph, search] = ["tree", "graph", "search"].map((id) => document.getElementById(id));
  const press = (key) => tree.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
  const click = (selector) => document.querySelector(selector).click();
  const acts = {
    arrow: () => press("ArrowDown"),
    end: () => press("End"),
    home: () => press("Home"),
    scroll: () => { graph.scrollTop += 700; },
    far: () => { graph.scrollTop = graph.scrollHeight / 2; },
    larger: () => click("#larger"),
    smaller: () => click("#smaller"),
    search: () => { search.value = "subnet-1"; search.dispatchEvent(new Event("input")); },
    clear: () => click("#clear"),
    filter: () => click("[data-state=failed]"),
    unfilter: () => click("[data-state=failed]"),
    select: () => click(".card"),
  };
  const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const times = [];
  for (let round = 0; round < (["arrow", "scroll"].includes(act) ? 11 : 1); round += 1) {
    const began = performance.now();
    acts[act]();
    await drawn();
    times.push(performance.now() - began);
  }
  return times;
}"""


def of_state(state, wanted):
    return next(row for row in state.rows.values() if row["state"] == wanted)


def at(address, row, tab=""):
    return f"{address}#tab={tab}&key={quote(row['key'], safe='')}"


def names(page):
    return page.locator("[role=treeitem] .name").all_text_contents()


def test_tree_and_graph_show_the_objects_with_owners_and_references(window, world):
    state, address = world(14)
    page = window(address)
    page.locator("[role=treeitem]").nth(13).wait_for()
    rows = list(state.rows.values())
    assert sorted(names(page)) == sorted(row["name"] for row in rows)
    cards = page.locator(".card .name").all_text_contents()
    assert sorted(cards)[:2] == ["net-1", "nic-1-2"]
    assert len(cards) == 14
    assert page.locator(".lines .owns").count() == 2  # of a group and of a network
    assert page.locator(".lines .refers").count() == sum(
        len(r["references"]) for r in rows
    )
    levels = page.locator("[role=treeitem]").evaluate_all(
        "rows => Object.fromEntries(rows.map(r => [r.querySelector('.name').textContent, r.ariaLevel]))"
    )
    assert (levels["rg-1"], levels["net-1"], levels["subnet-1-0"]) == ("1", "2", "3")


def test_filters_and_search_are_in_the_address_and_survive_a_reload(window, world):
    state, address = world(300)
    row = of_state(state, "failed")
    page = window(address)
    page.locator("[data-state=failed]").click()
    page.locator("#namespaces").select_option(row["namespace"])
    page.locator("#kinds").select_option(row["kind"])
    page.locator("[role=treeitem]", has_text=row["name"]).wait_for()
    first = names(page)
    count = page.locator("#count").text_content()
    assert "state=failed" in page.url
    assert f"ns={row['namespace']}" in page.url
    page.reload()
    page.locator("[role=treeitem]", has_text=row["name"]).wait_for()
    assert names(page) == first
    assert page.locator("#count").text_content() == count
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("Search objects").fill("subnet-3-1 team-3")
    assert names(page) == ["rg-3", "net-3", "subnet-3-1"]
    assert page.locator("#count").text_content() == "1 of 300 objects"


def test_the_keyboard_alone_walks_through_the_tree_to_an_object_and_back(window, world):
    _, address = world(40)
    page = window(address)
    page.locator("[role=treeitem]").first.wait_for()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.locator("#tree").focus()
    for key in ("End", "Home", "ArrowLeft", "ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    page.keyboard.type("net-1")
    active = page.locator("#tree-active")
    assert active.locator(".name").text_content() == "net-1"
    page.keyboard.press("Enter")
    page.locator("#detail h2").wait_for()
    page.locator("#detail-name:focus").wait_for()
    assert page.locator("#detail h2").text_content() == "net-1"
    for _ in range(3):  # past `Wide` and `Close`
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    selected = page.locator("#detail [role=tab][aria-selected=true]")
    assert selected.text_content() == "Conditions"
    page.keyboard.press("Escape")
    page.locator("#detail").wait_for(state="hidden")
    assert page.evaluate("document.activeElement.id") == "tree"
    page.go_back()
    assert page.locator("#detail h2").text_content() == "net-1"


def test_a_change_arrives_and_is_said(window, world):
    state, address = world(20)
    page = window(address)
    row = of_state(state, "ready")
    page.locator("[role=treeitem]").first.wait_for()
    page.locator(".link.live").wait_for()
    state.change(row, state="failed", reason="Conflict", message="Another name.")
    card = page.locator(f'.card[data-key="{row["key"]}"]')
    card.get_by_text("Conflict").wait_for()
    assert "failed" in card.get_attribute("class")
    page.locator("#news").get_by_text(f"{row['name']} is Failed.").wait_for()
    assert page.title().startswith("2 failed") or "failed" in page.title()


def test_a_slow_press_is_not_lost_while_objects_change(window, world):
    state, address = world(20)
    page = window(address)
    page.locator(".link.live").wait_for()
    rows = list(state.rows.values())
    for target, name in (("[role=treeitem]", "net-1"), (".card", "subnet-1-0")):
        shown = page.locator(target, has=page.get_by_text(name, exact=True)).first
        shown.hover()
        page.mouse.down()
        state.change(rows[-1], state="failed" if target == ".card" else "waiting")
        page.wait_for_timeout(150)
        page.mouse.up()
        page.locator("#detail-name", has_text=name).wait_for()


def test_hostile_texts_are_shown_as_texts(window, world):
    state, address = world(20)
    row = of_state(state, "failed")
    row |= {
        "name": HOSTILE,
        "message": HOSTILE,
        "reason": HOSTILE,
        "namespace": HOSTILE,
    }
    page = window(at(address, row))
    page.locator("#detail h2").wait_for()
    for tab in ("summary", "history", "requests", "difference", "events"):
        page.locator(f"#tab-{tab}").click()
        assert HOSTILE in page.locator("#detail").inner_text()
    assert HOSTILE in names(page)
    assert page.locator("img[src=x]").count() == 0
    assert page.title() != "1"
    keep(page, "hostile")


VIEWS = {
    "objects": "",
    "summary": "summary",
    "history": "history",
    "requests-of-object": "requests",
    "difference": "difference",
    "events": "events",
    "requests": None,
    "queues": None,
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_any_view(window, world, scheme):
    state, address = world(60)
    row = of_state(state, "failed")
    page = window(address, color_scheme=scheme, now=NOW)
    found = {}
    for view, tab in VIEWS.items():
        if tab is None:
            page.get_by_role("link", name=view.capitalize()).click()
        elif tab:
            page.goto(at(address, row, tab))
            page.locator("#detail-panel").wait_for()
        page.locator("[role=treeitem]").first.wait_for(state="attached")
        found[view] = barriers(page)
        keep(page, f"{scheme}-{view}")
    assert found == {view: [] for view in VIEWS}


def test_the_accessibility_tree_is_the_kept_one(window, world):
    """To accept a change, delete the file and run the test again."""
    state, address = world(14)
    page = window(at(address, of_state(state, "failed")), now=NOW)
    page.locator("#detail-panel").wait_for()
    page.locator(".link.live").wait_for()
    page.locator("[role=treeitem]").nth(13).wait_for()
    found = page.locator("body").aria_snapshot() + "\n"
    if not SNAPSHOT.exists():
        SNAPSHOT.write_text(found)
    assert found == SNAPSHOT.read_text()


def test_what_fails_is_said_and_tried_again(window, world):
    state, address = world(20)
    state.fails = True
    page = window(address)
    problem = page.locator("#problem")
    problem.get_by_text("The server fails. The page tries again in 5 s.").wait_for()
    page.locator(".link.lost").wait_for()
    keep(page, "lost")
    state.fails = False
    page.locator(".link.live").wait_for()
    page.locator("[role=treeitem]").first.wait_for()
    problem.locator("p").first.wait_for(state="detached")
    state.end_streams()
    page.locator(".link.lost").wait_for()
    page.locator(".link.live").wait_for()


@pytest.mark.parametrize(
    ("width", "height", "scale"), [(640, 400, 2), (320, 640, 1), (1000, 700, 1)]
)
def test_large_text_and_narrow_windows_need_no_sideways_scrolling(
    window, world, width, height, scale
):
    state, address = world(60)
    size = {"width": width, "height": height}
    page = window(address, viewport=size, device_scale_factor=scale)
    for place in ("", at("", of_state(state, "failed"), "difference"), "#view=queues"):
        page.goto(address + place)
        page.locator("[role=treeitem]").first.wait_for(state="attached")
        page.wait_for_timeout(100)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.goto(address)
    keep(page, f"narrow-{width}")


def test_the_chosen_theme_stays_and_nothing_moves_for_those_who_want_that(
    window, world
):
    _, address = world(20)
    page = window(address)
    page.locator(".card.working").first.wait_for()
    assert page.evaluate("document.getAnimations().length") == 0
    button = page.locator("#theme")
    button.click()
    assert button.text_content() == "Theme: dark"
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.reload()
    assert button.text_content() == "Theme: dark"
    button.click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark


def test_5000_objects_answer_a_key_and_a_scroll_at_once(window, world, capsys):
    _, address = world(5000)
    began = time.monotonic()
    page = window(address)
    page.locator("[role=treeitem]").first.wait_for()
    figures = {"load": [round((time.monotonic() - began) * 1000)]}
    meter = page.context.new_cdp_session(page)
    meter.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy():
        """The main thread's own time, without that of other processes."""
        metrics = meter.send("Performance.getMetrics")["metrics"]
        return next(m["value"] for m in metrics if m["name"] == "TaskDuration") * 1000

    costs = {}
    for act in ACTS:
        before = busy()
        seen = page.evaluate(MEASURE, act)
        costs[act] = (busy() - before) / len(seen)
        figures[act] = [round(sorted(seen)[len(seen) // 2]), round(costs[act])]
    elements = page.locator("*").count()
    keep(page, "5000")
    told = ", ".join(f"{act} {'/'.join(map(str, v))}" for act, v in figures.items())
    with capsys.disabled():
        sys.stdout.write(
            "\n5,000 objects, milliseconds until it is drawn, and of the main thread: "
            f"{told}; elements in the page: {elements}\n"
        )
    assert max(costs["arrow"], costs["scroll"]) < MOST_MILLISECONDS
    assert elements < 3000
