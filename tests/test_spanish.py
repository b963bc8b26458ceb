"""English and Spanish are first-class: what is said in one can be read in the other."""

import ast
import re
from collections import Counter
from pathlib import Path

import polib
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parent.parent
PO = ROOT / "locale/es/LC_MESSAGES/django.po"
CATALOGUE = PO.read_text()


def catalogue() -> dict[str, str]:
    """Return every translated message as gettext keeps it: context and plurals in the key."""
    messages = {}
    for entry in polib.pofile(str(PO)).translated_entries():
        context = f"{entry.msgctxt}\4" if entry.msgctxt else ""
        plural = f"\0{entry.msgid_plural}" if entry.msgid_plural else ""
        forms = "\0".join(entry.msgstr_plural.values()) if plural else entry.msgstr
        messages[f"{context}{entry.msgid}{plural}"] = forms
    return messages


SPANISH = catalogue()
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
CODE = sorted(
    file
    for app in ("kenoweb", "memory", "sleep", "bot")
    for file in (ROOT / app).rglob("*.py")
    if "migrations" not in file.parts
)
LITERAL = r"""u?(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
CALL = re.compile(rf"\b(_|n?p?gettext)\(\s*({LITERAL}(?:\s*,\s*{LITERAL})*)")
SPEAKS = {"_", "N_", "gettext", "gettext_lazy", "gettext_noop"}
COUNTS = {"ngettext", "ngettext_lazy"}
SPEAKING = re.compile(rf"\b({'|'.join(SPEAKS | COUNTS)})\(")
PLACE = re.compile(r"%(?:\(\w+\))?[.\d]*[sdgf%]")


def said_in_template(source: str) -> set[str]:
    found = set()
    for name, literals in CALL.findall(templatize(source)):
        words = [ast.literal_eval(one) for one in re.findall(LITERAL, literals)]
        context = f"{words.pop(0)}\4" if name.startswith(("p", "np")) else ""
        found.add(context + "\0".join(words[: 2 if "n" in name.removesuffix("gettext") else 1]))
    return found


def said_in_code(source: str) -> set[str]:
    found = set()
    for call in ast.walk(ast.parse(source)) if SPEAKING.search(source) else ():
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        texts = [arg.value for arg in call.args if isinstance(getattr(arg, "value", None), str)]
        if call.func.id in SPEAKS and texts:
            found.add(texts[0])
        elif call.func.id in COUNTS and len(texts) > 1:
            found.add("\0".join(texts[:2]))
    return found


def test_both_readers_find_what_is_there():
    assert said_in_template(
        '{% load i18n %}{% translate "One" %}{% blocktranslate count n=n %}{{ n }} a{% plural %}'
        '{{ n }} b{% endblocktranslate %}{% translate "in" context "place" %}'
        '{% include "x" with title=_("Two") %}'
    ) == {"One", "%(n)s a\0%(n)s b", "place\4in", "Two"}
    assert said_in_code('_("One"); ngettext("a", "b", n); _("x" "y") % {"n": 1}') == {
        "One",
        "a\0b",
        "xy",
    }


def test_every_template_speaks_spanish():
    assert untranslated(TEMPLATES, said_in_template) == {}


def test_every_sentence_of_the_code_has_its_spanish():
    assert untranslated(CODE, said_in_code) == {}


def untranslated(files, said) -> dict[str, list[str]]:
    found = {str(f.relative_to(ROOT)): sorted(said(f.read_text()) - SPANISH.keys()) for f in files}
    return {name: missing for name, missing in found.items() if missing}


def test_a_translation_keeps_what_is_filled_in():
    """One form may leave the number out in words, as it does in English: "at the first attempt"."""
    lost = {
        original: side
        for original, spanish in SPANISH.items()
        for place, side in enumerate(spanish.split("\0"))
        if set(PLACE.findall(side)) not in _places(original, place)
    }
    assert lost == {}


def _places(original: str, form: int) -> list[set[str]]:
    """What may be filled in there: what either form has, or what that form has in English."""
    return [set(PLACE.findall(original)), set(PLACE.findall(original.split("\0")[form]))]


def test_the_catalogue_holds_no_guesses():
    """`make messages` guesses by likeness and marks it fuzzy: a person has to look."""
    assert re.findall(r"^#[|~].*|^#,.*fuzzy.*", CATALOGUE, re.M) == []


def test_no_sentence_is_translated_twice():
    """`make messages` stops at the second one."""
    said = re.findall(r'((?:^msgctxt .*\n)?^msgid (?:".*"\n)+)', CATALOGUE, re.M)
    assert [one for one, times in Counter(said).items() if times > 1] == []


def test_keno_says_tu():
    formal = re.compile(r"\b(usted|ustedes|vosotros|su contraseña|su cuenta)\b", re.I)
    assert [text for text in SPANISH.values() if formal.search(text)] == []
