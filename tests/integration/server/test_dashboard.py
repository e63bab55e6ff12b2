"""The dashboard in a real browser."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from google.adk.agents.llm_agent import LlmAgent

from gaia_memory import NewFact, open_memory
from support.cli import chromium
from support.cli.cli_runner import GAIA_COMMAND, gaia_home, write_offline_config
from support.cli.dashboard import DashboardPage, served_home
from support.cli.first_minute import MAX_SECONDS, correct_a_fact
from support.hosts.adk_process import wait_for

pytestmark = [pytest.mark.heavy, chromium.NEEDS_CHROMIUM]

SCRIPT = '<script>document.title = "taken"</script> & <img src="http://evil.example/x.png">'
TURNED = "Likes \u202egnitirw desrever"
LONG = "w" * 10_000
FACTS = ("Lives in Oslo", "Likes green tea", SCRIPT, TURNED, LONG, "Has a dog called Rex 🐕")
TABS = ("Facts", "Timeline", "Due", "Profile", "Conversations")


async def _fill(config: Path) -> None:
    async with open_memory(config) as gaia:
        scope = gaia.scope("ada")
        await gaia.memory.add(scope, [NewFact(text) for text in FACTS])
        await gaia.memory.add(scope, [NewFact("Has diabetes", sensitive=True, category="health")])
        tomorrow = datetime.now(UTC) + timedelta(days=1)
        await gaia.memory.add(scope, [NewFact("Call the dentist", due_at=tomorrow)])
        await gaia.memory.remember(gaia.scope("bob"), "Bob likes mauve")


async def _talk(config: Path) -> None:
    async with open_memory(config) as gaia:
        agent = LlmAgent(name="assistant", model=gaia.model, instruction="Help.")
        await gaia.conversation(agent, user_id="ada", channel="cli").send("Which tea do I like?")


@contextmanager
def dashboard(folder: Path, *flags: str) -> Iterator[tuple[DashboardPage, str]]:
    """Serve a home with facts of two people, and log in as its admin."""
    config = write_offline_config(folder)
    asyncio.run(_fill(config))
    with served_home(config, folder) as address, chromium.open_browser(folder / "browser", *flags) as session:
        page = DashboardPage(session)
        page.log_in(address, (gaia_home() / "server.token").read_text(encoding="utf-8").strip())
        yield page, address


@pytest.mark.acceptance("H07")
def test_a_fact_is_found_corrected_undone_and_forgotten(tmp_path: Path) -> None:
    """Without a console error and without a request to another host; hostile facts are text."""
    with dashboard(tmp_path) as (page, _):
        page.follow("ada")
        page.wait_for_text("8 facts")
        title, listed = str(page.execute_script("return document.title")), page.text()
        page.type_into("//input[@id='q']", "where do I live?")
        wait_for(lambda: "live" in page.execute_script("return location.search"))
        first = page.execute_script("return document.querySelector('.cards .text').innerText")
        page.follow("Lives in Oslo")
        page.type_into("//textarea", "Lives in Bergen")
        page.click("//button[normalize-space()='Save']")
        page.wait_for_text("replaced")
        corrected = page.text()
        page.click("//button[normalize-space()='Undo the last change']")
        wait_for(lambda: page.execute_script("return document.querySelector('textarea')?.value") == "Lives in Oslo")
        page.click("//summary[normalize-space()='Forget it…']")
        page.click("//button[normalize-space()='Forget it for ever']")
        page.wait_for_text("1 fact is forgotten")
        receipt = json.loads(page.execute_script("return document.querySelector('pre').innerText"))
        page.follow("Back to the facts")
        page.wait_for_text("7 facts")
        errors, foreign = page.console_errors(), page.foreign_requests()

    assert title.startswith("ada")
    assert SCRIPT in listed
    assert "\u202e" not in listed
    assert "diabetes" not in listed
    assert first.startswith("Lives in Oslo")
    assert "Lives in Bergen" in corrected
    assert "Lives in Oslo" in corrected
    assert receipt["count"] == 1
    assert (errors, foreign) == ([], [])


@pytest.mark.slow
@pytest.mark.acceptance("H20")
@pytest.mark.parametrize("flags", [(), ("--force-dark-mode", "--blink-settings=preferredColorScheme=0")])
def test_every_page_is_accessible(tmp_path: Path, flags: tuple[str, ...]) -> None:
    """axe-core finds nothing, in light and dark, wide and at 360 pixels, where nothing is cut off."""
    problems: list[str] = []
    widths: list[int] = []
    with dashboard(tmp_path, *flags) as (page, address):
        asyncio.run(_talk(write_offline_config(tmp_path)))
        page.open(f"{address}/people/gaia/ada/profile")
        page.wait_for_text("Notes before its last message")
        fact_ids = [str(path).rpartition("/")[2] for path in _paths_of_facts(page, address)]

        def check() -> None:
            problems.extend(page.accessibility_problems())
            overflow = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
            widths.append(int(page.execute_script(overflow)))

        for width in (1280, 360):
            page.resize(width, 800)
            page.open(address)
            check()
            page.follow("ada")
            for tab in TABS:
                page.follow(tab)
                page.wait_for_text(tab)
                check()
            page.follow("Facts")
            page.follow("Likes green tea")
            page.wait_for_text("Its line through time")
            check()
            for path in (
                "people/gaia/ada/forget",
                "status",
                "people/gaia/ada?q=tea",
                "people/gaia/nobody",
                "login",
                "api",
            ):
                page.open(f"{address}/{path}")
                check()
            for fact_id in fact_ids:
                page.open(f"{address}/people/gaia/ada/facts/{fact_id}")
                check()
            errors = page.console_errors()
            # The browser notes these as errors of the console.
            for path in ("nowhere", "people/gaia/ada/facts/unknown"):
                page.open(f"{address}/{path}")
                check()
            page.console_errors()
        page.open(f"{address}/people/gaia/ada")
        page.follow("Likes green tea")
        page.click("//summary[normalize-space()='Forget it…']")
        check()
        page.click("//button[normalize-space()='Forget it for ever']")
        page.wait_for_text("1 fact is forgotten")
        check()

    assert problems == []
    assert max(widths) <= 0
    assert errors == []


def _paths_of_facts(page: DashboardPage, address: str) -> list[str]:
    page.open(f"{address}/people/gaia/ada")
    return list(
        page.execute_script("return [...document.querySelectorAll('.cards .text a')].map(each => each.pathname)")
    )


@pytest.mark.acceptance("H20")
def test_a_fact_is_corrected_by_keyboard_alone(tmp_path: Path) -> None:
    """Tab, typing and Enter reach everything, in the order of the page."""
    tab, enter = "\ue004", "\ue007"
    with dashboard(tmp_path) as (page, _):

        def focus(label: str) -> None:
            for _ in range(60):
                page.press(tab)
                shown = "return (document.activeElement.innerText || document.activeElement.id || '').trim()"
                if page.execute_script(shown) == label:
                    return
            raise AssertionError(f"{label} cannot be reached")

        focus("ada")
        page.press(enter)
        page.wait_for_text("8 facts")
        focus("Likes green tea")
        page.press(enter)
        page.wait_for_text("Its line through time")
        page.execute_script("document.querySelector('textarea').select()")
        focus("text")
        page.press("Likes black tea")
        focus("Save")
        page.press(enter)
        page.wait_for_text("replaced")
        shown = page.text()

    assert "Likes black tea" in shown


@pytest.mark.slow
def test_a_fact_is_corrected_in_the_first_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From an installed package: remember it, serve, log in, correct. Loaded machines get three minutes."""
    monkeypatch.setenv("GAIA_HOME", str(tmp_path / "home"))
    seconds: dict[str, float] = {}
    correct_a_fact(tmp_path, GAIA_COMMAND, seconds)

    assert sum(seconds.values()) < 3 * MAX_SECONDS, seconds


@pytest.mark.slow
def test_everything_is_forgotten_only_with_the_id_of_the_person(tmp_path: Path) -> None:
    """Another text forgets nothing."""
    with dashboard(tmp_path) as (page, _):
        page.follow("ada")
        page.follow("Forget everything…")
        page.type_into("//input[@id='confirm']", "bob")
        page.click("//main//button[normalize-space()='Forget everything']")
        page.wait_for_text("Nothing was forgotten")
        page.execute_script("history.back()")
        page.type_into("//input[@id='confirm']", "ada")
        page.click("//main//button[normalize-space()='Forget everything']")
        page.wait_for_text("8 facts are forgotten")
        page.follow("gaia-memory")
        page.wait_for_text("1 person")
        people = page.text()

    assert "bob" in people
    assert "ada" not in people
