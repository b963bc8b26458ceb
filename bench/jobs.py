"""What people come to the pages for: how many clicks and seconds each job takes.

    python -m bench.jobs

Starts a Keno of its own with the demo in it and does every job in a real Chromium as a newcomer
would: by the names that stand on links and buttons. A click is a press on a link, button, field
of choices or file; typing is free, and a key of the keyboard is counted apart. The seconds are
those of the machine, from the first page to the sight of the result; reading and thinking come on
top. The browser tests do the same jobs, each with its promise (tests/browser/test_jobs.py).
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

from bench.page_weight import BASE, running_demo

MOST = 5
# Milliseconds: a busy machine is slow, and that is what the seconds tell.
PATIENCE = 60_000
# Of the demo's yesterday: the replies of that day have receipts, at any hour.
ASKED = "Where do the backups go?"
CHATGPT = [
    {
        "title": "Garden",
        "create_time": 1760000000,
        "current_node": "b",
        "mapping": {
            "a": {
                "message": {
                    "author": {"role": "user"},
                    "create_time": 1760000000,
                    "content": {"content_type": "text", "parts": ["I keep bees in Oaxaca."]},
                },
                "parent": None,
                "children": ["b"],
            },
            "b": {
                "message": {
                    "author": {"role": "assistant"},
                    "create_time": 1760000005,
                    "content": {"content_type": "text", "parts": ["How many hives?"]},
                },
                "parent": "a",
                "children": [],
            },
        },
    }
]


class Newcomer:
    """Somebody in front of a page who clicks by name; the clicks and keys are counted."""

    def __init__(self, page: Page):
        self.page, self.clicks, self.keys = page, 0, 0

    def click(self, role: Any, name: str, *, within: str = "body", exact: bool = False) -> None:
        found = self.page.locator(within).get_by_role(role, name=name, exact=exact)
        self.press_on(found.filter(visible=True).first)

    def press_on(self, found: Locator) -> None:
        self.clicks += 1
        found.click()

    def choose(self, field_name: str, value: str) -> None:
        self.clicks += 1
        self.page.select_option(f"[name={field_name}]", value)

    def give_file(self, label: str, file: Path) -> None:
        self.clicks += 1
        self.page.get_by_label(label, exact=True).set_input_files(file)

    def key(self, letter: str) -> None:
        self.keys += 1
        self.page.keyboard.press(letter)

    def rail(self, name: str) -> None:
        self.click("link", name, within="#rail")

    def see(self, text: str, *, within: str = "main") -> None:
        expect(self.page.locator(within).get_by_text(text).first).to_be_visible()

    def settled(self) -> None:
        expect(self.page.locator(".htmx-request")).to_have_count(0)


# The jobs, each with the names of what it is done to.


def why_did_it_say_that(one: Newcomer, *, question: str, memory: str) -> None:
    one.rail("Receipts")
    one.click("link", question)
    one.see(memory)
    one.see("What decides the answer")


def fix_a_wrong_fact(one: Newcomer, *, wrong: str, right: str) -> None:
    one.rail("Facts")
    one.click("link", wrong)
    one.click("link", "Edit", within="#panel")
    one.page.locator("#panel textarea").first.fill(right)
    one.click("button", "Save", within="#panel")
    one.see(right, within="#panel .claim")


def discard_and_restore(one: Newcomer, *, episode: str) -> None:
    one.rail("Episodes")
    one.click("link", episode)
    one.click("link", "Discard", within="#panel")
    one.click("button", "Discard", within="dialog[open]", exact=True)
    one.see("Discarded: Noise", within="#panel")
    one.click("button", "Undo", within="#toasts")
    expect(one.page.locator("#panel")).not_to_contain_text("Discarded: Noise")


def decide_by_keyboard(one: Newcomer, *, how_many: int) -> None:
    one.rail("Proposals")
    for _n in range(how_many):
        title = one.page.locator(".desk h1").inner_text()
        one.settled()
        # What an answer before has made pointless can only be refused.
        pointless = one.page.locator(".desk .note.warn", has_text="cannot be applied").count()
        one.key("x" if pointless else "a")
        expect(one.page.locator(".desk h1").get_by_text(title, exact=True)).to_have_count(0)


def take_back_a_night(one: Newcomer) -> None:
    one.rail("Nights")
    one.press_on(one.page.locator("tr[data-row] a").first)
    one.see("night I")
    one.click("link", "Undo this night")
    one.click("button", "Undo this night")
    one.see("Took back", within="#toasts")


def all_about_a_person(one: Newcomer, *, name: str, fact: str) -> None:
    one.rail("People and things")
    one.click("link", name, exact=True)
    one.see(fact)


def how_a_belief_changed(one: Newcomer, *, fact: str) -> None:
    one.rail("Facts")
    one.click("link", fact)
    one.see("What was believed when", within="#panel")
    expect(one.page.locator("#panel .river path").nth(1)).to_be_visible()


def forget_a_person(one: Newcomer, *, name: str) -> None:
    one.rail("People and things")
    one.click("link", name, exact=True)
    one.click("link", "Erase all about them…")
    one.see("This is erased, with what was forgotten, discarded or archived of it:")
    word = one.page.locator(".field .label code").inner_text()
    one.page.fill("[name=typed]", word)
    one.click("button", "Erase")
    expect(one.page.locator("main")).not_to_contain_text("erase for good?")


def export_everything(one: Newcomer) -> None:
    one.rail("Import and export")
    with one.page.expect_download() as got:
        one.click("button", "Export")
    assert got.value.suggested_filename.endswith(".zip")


def import_from_chatgpt(one: Newcomer, *, file: Path) -> None:
    one.rail("Import and export")
    one.give_file("File", file)
    one.click("button", "Preview")
    one.click("button", "Import ")
    one.click("button", "Learn from ")
    one.see("what became of every line")


def connect_a_model(one: Newcomer, *, address: str) -> None:
    one.rail("Connect")
    one.choose("provider", "openai")
    one.page.fill("[name=base]", address)
    one.click("button", "Save", within="#model")
    one.click("button", "Test it", within="#model")
    one.see("ok, ", within="#model")


def connect_telegram(one: Newcomer, *, token: str) -> None:
    one.rail("Connect")
    one.page.fill("#telegram [name=token]", token)
    one.click("button", "Connect it", within="#telegram")
    one.click("button", "A code for me", within="#telegram")
    expect(one.page.locator("#code")).to_have_value(re.compile("^/link "))


def invite_somebody(one: Newcomer) -> None:
    one.press_on(one.page.locator("#rail summary.space"))
    one.click("link", "Members", within="#rail")
    one.click("button", "Create a link")
    expect(one.page.locator("main input[readonly]").first).to_be_visible()


def token_and_curl(one: Newcomer) -> str:
    """Also runs the line that stands there, as it stands there; returns what it answered."""
    made = _token(one)
    line = next(words for words in made if words.startswith("curl "))
    done = subprocess.run(shlex.split(line.replace("\\\n", " ")), capture_output=True, text=True)
    assert "memories" in json.loads(done.stdout), done.stderr
    return done.stdout


def token_and_mcp(one: Newcomer) -> str:
    """Also says hello as an agent with these lines would; returns what it answered."""
    made = _token(one)
    known = json.loads(next(words for words in made if "mcpServers" in words))
    server = known["mcpServers"]["keno"]
    about = {"protocolVersion": "2025-06-18", "capabilities": {}}
    params = about | {"clientInfo": {"name": "newcomer", "version": "1"}}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    sent = one.page.request.post(
        server["url"],
        data=hello,
        headers=server["headers"] | {"Accept": "application/json, text/event-stream"},
    )
    assert sent.ok, sent.text()
    return sent.text()


def _token(one: Newcomer) -> list[str]:
    one.rail("Connect")
    one.click("link", "New token")
    one.page.fill("[name=name]", "A newcomer's program")
    one.click("button", "Create the token")
    one.see("Copy it now.")
    return one.page.locator("main pre").all_inner_texts()


@dataclass(frozen=True)
class Job:
    name: str
    do: Callable[..., Any]
    given: dict[str, Any] = field(default_factory=dict)


def jobs(*, folder: Path, model: str, telegram: str) -> list[Job]:
    """Every job, with the names it meets in the demo."""
    file = folder / "conversations.json"
    file.write_text(json.dumps(CHATGPT))
    backups = {"question": ASKED, "memory": "Helsinki"}
    site = {"wrong": "Priya uses Penpot for the new site", "right": "Priya uses Figma again"}
    return [
        Job("why did it say that", why_did_it_say_that, backups),
        Job("fix a wrong fact", fix_a_wrong_fact, site),
        Job("discard an episode, restore it", discard_and_restore, {"episode": "My dentist is"}),
        Job("decide 10 by keyboard", decide_by_keyboard, {"how_many": 10}),
        Job("take back a night", take_back_a_night),
        Job("all about a person", all_about_a_person, {"name": "Lucía", "fact": "cacahuates"}),
        Job("how a belief changed", how_a_belief_changed, {"fact": "Priya moved to Goa"}),
        Job("forget a person for good", forget_a_person, {"name": "Carmen"}),
        Job("export everything", export_everything),
        Job("import from ChatGPT and learn", import_from_chatgpt, {"file": file}),
        Job("connect a language model", connect_a_model, {"address": model}),
        Job("connect Telegram", connect_telegram, {"token": telegram}),
        Job("invite somebody", invite_somebody),
        Job("token, and curl with it", token_and_curl),
        Job("token, and an agent with it (MCP)", token_and_mcp),
    ]


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    # Stand-ins for Telegram and a model: nothing leaves the machine.
    from tests.bot import bot_api
    from tests.llm import servers

    folder = Path(tempfile.mkdtemp(prefix="keno-jobs-"))
    with bot_api.running() as telegram, servers.running() as model:
        os.environ["TELEGRAM_BASE_URL"] = telegram.url
        with running_demo() as (browser, state):
            context = browser.new_context(
                storage_state=state, base_url=BASE, viewport={"width": 1280, "height": 860}
            )
            context.set_default_timeout(PATIENCE)
            expect.set_options(timeout=PATIENCE)
            page = context.new_page()
            todo = jobs(folder=folder, model=f"{model.url}/v1", telegram=bot_api.TOKEN)
            print("| job | clicks | keys | seconds |\n|---|---|---|---|")
            for job in todo:
                print(_line(job, page), flush=True)


def _line(job: Job, page: Page) -> str:
    page.goto("/s/demo/")
    one, began = Newcomer(page), time.monotonic()
    job.do(one, **job.given)
    took = time.monotonic() - began
    over = " (over)" if one.clicks > MOST else ""
    return f"| {job.name} | {one.clicks}{over} | {one.keys or ''} | {took:.1f} |"


if __name__ == "__main__":
    main()
