"""The page of a real sandbox in a real browser."""

import re
import signal
import subprocess
import sys

import pytest
from conftest import barriers, keep

_START = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from asoreconcile.azure.cmd.asoreconcile import main
main()
"""
_GROUP = """
apiVersion: resources.azure.com/v1api20200601
kind: ResourceGroup
metadata: {name: shop, namespace: default}
spec: {location: westeurope}
---
apiVersion: network.azure.com/v1api20201101
kind: VirtualNetwork
metadata: {name: net, namespace: default}
spec:
  owner: {name: shop}
  location: westeurope
  addressSpace: {addressPrefixes: [10.0.0.0/16]}
"""
_MORE = _GROUP.split("---")[1].replace("name: net,", "name: NAME,")
_ACCOUNT = """
apiVersion: storage.azure.com/v1api20230101
kind: StorageAccount
metadata: {name: broken2026, namespace: default}
spec:
  owner: {name: shop}
  location: westeurope
  kind: StorageV2
  sku: {name: Standard_LRS}
"""
_PATIENCE_SECONDS = 60


@pytest.fixture(scope="module")
def sandbox(chromium, tmp_path_factory):
    """The address of the page of a running sandbox."""
    manifest = tmp_path_factory.mktemp("manifests") / "group.yaml"
    manifest.write_text(_GROUP)
    command = [sys.executable, "-c", _START, "sandbox", "--web", "--lro", "0.2"]
    with subprocess.Popen(
        [*command, "-f", str(manifest)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        for line in process.stdout:
            if found := re.match(r"page: (\S+)", line):
                break
        else:
            pytest.fail("the sandbox never said where its page is")
        yield found[1]
        process.send_signal(signal.SIGINT)
        process.stdout.read()


@pytest.fixture
def page(window, sandbox):
    opened = window(sandbox)
    opened.set_default_timeout(_PATIENCE_SECONDS * 1000)
    opened.locator(".link.live").wait_for()
    return opened


def about(page):
    return page.evaluate("import('/page/api.js').then(({get}) => get('api/about'))")


def card(page, name, state):
    """Wait until an object is in a state."""
    shown = page.locator(f".card.{state}", has_text=name)
    shown.first.wait_for()
    return shown.first


def apply(page, text):
    page.get_by_role("link", name="Sandbox", exact=True).click()
    page.locator("#yaml").fill(text)
    page.keyboard.press("Control+Enter")
    page.locator(".result").first.wait_for()
    return page.locator(".result").all_text_contents()


def test_objects_become_ready_and_their_requests_are_shown(page):
    card(page, "net", "ready").click()
    page.locator("#detail-name").wait_for()
    page.locator("#tab-requests").click()
    put = page.locator("#detail-panel tr", has_text="PUT").first
    put.locator("summary").click()
    assert "10.0.0.0/16" in put.inner_text()
    page.locator("#tab-history").click()
    assert "Succeeded" in page.locator("#detail-panel").inner_text()
    page.locator("#tab-difference").click()
    page.locator("#detail-panel td[data-side=Azure]").first.wait_for()
    keep(page, "sandbox-difference")
    page.get_by_role("link", name="Requests", exact=True).click()
    page.locator("#requests tr", has_text="PUT").first.wait_for()
    page.get_by_role("link", name="Queues", exact=True).click()
    page.locator("#charts h3").first.wait_for()
    keep(page, "sandbox-queues")


def test_no_key_stays_in_the_address_or_a_cookie_and_a_reload_keeps_the_page(page):
    assert "once" not in page.url
    assert page.context.cookies() == []
    page.reload()
    page.locator(".link.live").wait_for()
    card(page, "net", "ready")
    stranger = page.context.new_page()
    stranger.goto(page.url)  # its tab has no token
    stranger.locator("#problem").get_by_text(
        "Open the page by the file"
    ).first.wait_for()
    stranger.close()


def test_a_fault_s_button_changes_the_simulator(page, sandbox):
    page.get_by_role("link", name="Sandbox", exact=True).click()
    button = page.locator('.fault[data-name="bad-name"]')
    button.click()
    page.locator('.fault[data-name="bad-name"][aria-pressed=true]').wait_for()
    assert [one["name"] for one in about(page)["faults"] if one["on"]] == ["bad-name"]
    found = apply(page, _ACCOUNT)
    assert found == ["created StorageAccount default/broken2026"]
    page.get_by_role("link", name="Objects", exact=True).click()
    page.locator(".card.failed, .card.warning", has_text="broken").wait_for()
    keep(page, "sandbox-failed")
    page.get_by_role("link", name="Sandbox", exact=True).click()
    button.click()
    page.locator('.fault[data-name="bad-name"][aria-pressed=false]').wait_for()
    assert not any(one["on"] for one in about(page)["faults"])


def test_the_editor_applies_and_shows_a_refusal(page):
    good = _MORE.replace("NAME", "second")
    assert apply(page, good)[0].startswith("created VirtualNetwork default/second")
    page.locator("#yaml").fill(good.replace("[10.0.0.0/16]", "ten"))
    page.locator("#editor .main").click()
    refused = page.locator(".result.refused")
    refused.wait_for()
    assert "addressPrefixes" in refused.text_content()
    assert page.locator("#news").text_content() == "1 manifest refused."
    keep(page, "sandbox-refused")


def test_an_object_is_deleted_after_a_question(page):
    apply(page, _MORE.replace("NAME", "third"))
    page.get_by_role("link", name="Objects", exact=True).click()
    card(page, "third", "ready").click()
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("button", name="Keep").click()
    assert page.locator("dialog").is_hidden()
    page.get_by_role("button", name="Delete…").click()
    keep(page, "sandbox-delete")
    assert barriers(page) == []
    page.get_by_role("button", name="Delete", exact=True).click()
    page.locator(".card", has_text="third").wait_for(state="detached")
    page.get_by_role("heading", name="No such object").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_a_sandbox(window, sandbox, scheme):
    page = window(f"{sandbox}#view=sandbox", color_scheme=scheme)
    page.locator(".fault").first.wait_for()
    assert barriers(page) == []
    keep(page, f"{scheme}-sandbox")
