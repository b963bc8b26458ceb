"""Every hostile line on every page, in a real browser: it asks for nothing and says nothing."""

from playwright.sync_api import expect

from memory.models import Chat, Episode, Fact, Pattern, WorkingNote
from tests import hostile
from tests.factories import make_member, make_space, make_user

PAGES = [
    "overview", "facts", "episodes", "episodes/?look=list", "patterns/?tried=alert+script+test",
    "working", "rulings", "quarantine", "trash", "chats", "members", "notices", "identity",
]  # fmt: skip


def test_hostile_words_do_nothing(window):
    member = make_member(space=make_space("home", name=hostile.OWN[0]), user=make_user("ana"))
    hostile.fill(member.space, hostile.lines("xss"))
    opened = window()
    page = opened.sign_in(member.user)
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    kept = Fact.objects.count()
    details = [
        ("facts", Fact), ("episodes", Episode), ("patterns", Pattern), ("working", WorkingNote),
        ("chats", Chat),
    ]  # fmt: skip
    paths = [path if "?" in path else f"{path}/" for path in PAGES if path != "overview"]
    paths += [f"{name}/{model.objects.earliest('pk').pk}/" for name, model in details]
    for path in ["", *paths]:
        page.goto(f"/s/home/{path}")
        expect(page.locator("h1").first).to_be_attached()
        # What acts when it is seen, when the pointer passes or when it gets the focus.
        page.mouse.wheel(0, 20_000)
        page.mouse.move(500, 300)
        page.keyboard.press("j")
        assert page.url.endswith(f"/s/home/{path}"), "the page was led away"
        opened.check()
    assert dialogs == []
    assert Fact.objects.count() == kept
