"""Words that want to act, put wherever people and models write, and an eye for those that do."""

import re
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

import html5lib
from django.contrib.auth.models import User
from django.utils import timezone

from kenoweb.ui import markdown
from memory.models import (
    Chat,
    Episode,
    Fact,
    Member,
    Message,
    Notice,
    Pattern,
    Preference,
    Ruling,
    Space,
    WorkingNote,
)
from memory.text.normalise import clean, one_line, said_key
from tests import own_lines

ROOT = Path(__file__).resolve().parents[1]
OWN = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)> '><b>",
    "' autofocus onfocus=alert(1) x='",
    '<a hx-get="/s/home/" hx-trigger="load">x</a>',
    '<div hx-post="/s/home/trash/empty/" hx-trigger="load"></div>',
    "[x](javascript:alert(1)) ![y](https://evil.example/z.png)",
    "</textarea></title></noscript><iframe src=//evil.example></iframe>",
    "<style>@import url(//evil.example/x.css)</style>",
    "<base href=//evil.example/> <link rel=stylesheet href=//evil.example/y.css>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<form action=https://evil.example/><button>ok</button></form>",
    "{{ request.user }} {% debug %} ${alert(1)}",
    "\u202eevil \u2066right to left",
    "<!-- <plaintext> --!><xmp>",
]
POLYGLOT = "\"'><img src=x onerror=alert(1)><a hx-get=/ hx-trigger=load>"
URLS = ("href", "src", "action", "formaction", "hx-get", "hx-post")
# Besides what people may write: links of our own that open a program on this machine.
SCHEMES = {"", "otpauth", "cursor", "vscode", *markdown.SCHEMES}
ACTS = re.compile(r"on.*|style|srcdoc|.*[^A-Za-z0-9:-].*")


def lines(*names: str) -> list[str]:
    """Return the lines above and those of tests/data under these names, as a page gets them."""
    said = [*OWN, *(line for name in names for line in own_lines.lines(name))]
    return [line for line in dict.fromkeys(one_line(clean(one))[:2000] for one in said) if line]


def several(said: list[str], *, at_once: int) -> list[str]:
    """So many lines in one: a page of few rows for what breaks programs more than pages."""
    return [" ".join(said[n : n + at_once]) for n in range(0, len(said), at_once)]


def fill(space: Space, said: list[str]) -> None:
    """Every line as everything that a page shows."""
    now = timezone.now()
    known = dict(enumerate(said))

    def facts(**given):
        return [
            Fact(
                space=space, text=line, quote=line, said_key=said_key(line), said_by=line[:120],
                subject=f"{line[:110]} {n}", **given,
            ) for n, line in known.items()
        ]  # fmt: skip

    Fact.objects.bulk_create(facts())
    Fact.objects.bulk_create(facts(status="quarantined", flags=["override"]))
    Fact.objects.bulk_create(facts(status="trashed", trashed_at=now))
    Episode.objects.bulk_create(
        Episode(
            space=space, title=line[:200], body=line, tags=[line[:64]], participants=[line[:120]],
            status="closed" if n % 2 else "discarded", discard_reason=line[:200],
            discarded_at=None if n % 2 else now, flags=["override"] if n % 4 == 1 else [],
        ) for n, line in known.items()
    )  # fmt: skip
    Pattern.objects.bulk_create(
        Pattern(
            space=space, slug=f"p{n}", trigger=line[:200], response=line, learned_from=line[:200]
        )
        for n, line in known.items()
    )
    Ruling.objects.bulk_create(
        Ruling(
            space=space, kind="never_remember", text=line, said_key=f"{n}", reason=line[:300],
            by=f"person:{line[:120]}",
        ) for n, line in known.items()
    )  # fmt: skip
    _chats(space, known)
    _people(space, known)


def _chats(space: Space, known: dict[int, str]) -> None:
    chats = Chat.objects.bulk_create(
        Chat(
            space=space, channel="web", external_id=f"h{n}", key=f"web-h{n}", title=line[:200],
            context=line, thread=line[:128],
        ) for n, line in known.items()
    )  # fmt: skip
    WorkingNote.objects.bulk_create(
        WorkingNote(space=space, chat=chat, task=line, context=[line], pending=[line], notes=line)
        for chat, line in zip(chats, known.values(), strict=True)
    )
    # All of it is said in the first chat as well, so that one transcript holds every line.
    Message.objects.bulk_create(
        Message(
            space=space, chat=chats[0], text=line, author=line[:120], external_id=f"h{n}",
            role="assistant" if n % 2 else "user", handled_at=timezone.now(),
        ) for n, line in known.items()
    )  # fmt: skip


def _people(space: Space, known: dict[int, str]) -> None:
    people = User.objects.bulk_create(
        User(username=f"{line[:140]} {n}", password="!") for n, line in known.items()
    )
    Member.objects.bulk_create(Member(space=space, user=one, role="viewer") for one in people)
    Notice.objects.bulk_create(
        Notice(space=space, kind="test", key=f"h{n}", text=line) for n, line in known.items()
    )
    Preference.objects.bulk_create(
        Preference(space=space, key=f"{line[:70]} {n}", value=line, section=line[:80])
        for n, line in list(known.items())[:60]
    )


def live(html: str) -> list[str]:
    """Everything on the page that came alive, as the parser of the standard reads it."""
    return alive(html5lib.parse(html, namespaceHTMLElements=False))


def alive(document: Element) -> list[str]:
    found = []
    for element in document.iter():
        if isinstance(element.tag, str):
            found += _alive(element.tag.rpartition("}")[2], dict(element.attrib), element.text)
    return found


def _alive(tag: str, attributes: dict, text: str | None) -> list[str]:
    names = {str(name).rpartition("}")[2]: value for name, value in attributes.items()}
    bad = [f"<{tag} {name}>" for name in names if ACTS.fullmatch(name)]
    if tag not in _tags():
        bad.append(f"<{tag}>")
    if tag == "script" and (text or not names.get("src", "").startswith("/static/")):
        bad.append(f"<script>{text}")
    if _sign(tag, names) in _signs():
        bad.append(f"<{tag} {names}>")
    urls = [(name, urlsplit(value.strip())) for name, value in names.items() if name in URLS]
    return bad + [
        f"{tag} {url.geturl()}"
        for name, url in urls
        # Only a link that somebody follows may lead elsewhere.
        if url.scheme not in SCHEMES or (url.netloc and (tag, name) != ("a", "href"))
    ]


@cache
def _tags() -> set[str]:
    """Every tag that stands in a template, or that icons are made of or our Markdown lets by."""
    source = "".join(file.read_text() for file in (ROOT / "templates").rglob("*.html"))
    return {
        *re.findall(r"<([a-z][a-z0-9]*)", source),
        *markdown.TAGS,
        "use",
        "meter",
        "optgroup",
        "html",
        "head",
        "body",
    }


@cache
def _signs() -> set:
    """The elements that the hostile lines would be, if a page took them for its own."""
    found = set()
    for line in lines("xss", "naughty"):
        for element in html5lib.parseFragment(line, namespaceHTMLElements=False).iter():
            if isinstance(element.tag, str) and element.attrib:
                found.add(_sign(element.tag.rpartition("}")[2], dict(element.attrib)))
    return found


def _sign(tag: str, names: dict) -> tuple:
    return tag, tuple(sorted((str(name), value) for name, value in names.items()))
