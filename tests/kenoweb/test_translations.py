"""Catalogues are compiled without gettext, and as gettext would."""

import gettext
import io
import os

import pytest

from kenoweb.launcher import startup

PO = r"""
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

#: templates/facts/index.html:3
msgid "Facts"
msgstr "Hechos"

msgctxt "verb"
msgid "Forget"
msgstr "Olvidar"

#, python-format
msgid "%(n)s fact"
msgid_plural "%(n)s facts"
msgstr[0] "%(n)s hecho"
msgstr[1] "%(n)s hechos"

msgid ""
"One line,\n"
"another \"quoted\" \\ line"
msgstr ""
"Una línea,\n"
"otra «citada» ñ"

#, fuzzy
msgid "Guessed"
msgstr "Adivinado"

msgid "Not yet"
msgstr ""

#~ msgid "Old"
#~ msgstr "Viejo"
"""


def compiled(text, folder):
    po = folder / "es" / "LC_MESSAGES" / "django.po"
    po.parent.mkdir(parents=True, exist_ok=True)
    po.write_text(text, encoding="utf-8")
    (mo,) = startup.compile_all(folder)
    return gettext.GNUTranslations(io.BytesIO(mo.read_bytes()))


@pytest.fixture
def spanish(tmp_path):
    return compiled(PO, tmp_path)


def test_plain_contextual_and_plural_messages(spanish):
    assert spanish.gettext("Facts") == "Hechos"
    assert spanish.pgettext("verb", "Forget") == "Olvidar"
    assert spanish.ngettext("%(n)s fact", "%(n)s facts", 1) == "%(n)s hecho"
    assert spanish.ngettext("%(n)s fact", "%(n)s facts", 2) == "%(n)s hechos"


def test_lines_quotes_and_accents(spanish):
    said = spanish.gettext('One line,\nanother "quoted" \\ line')
    assert said == "Una línea,\notra «citada» ñ"


@pytest.mark.parametrize("unsure", ["Guessed", "Not yet", "Old"])
def test_what_is_unsure_stays_english(spanish, unsure):
    assert spanish.gettext(unsure) == unsure


def test_only_what_is_newer_is_compiled_again(tmp_path):
    po = tmp_path / "es" / "LC_MESSAGES" / "django.po"
    po.parent.mkdir(parents=True)
    po.write_text(PO, encoding="utf-8")
    mo = po.with_suffix(".mo")
    assert startup.compile_all(tmp_path) == [mo]
    assert startup.compile_all(tmp_path) == []
    os.utime(po, (mo.stat().st_mtime + 10,) * 2)
    assert startup.compile_all(tmp_path) == [mo]


def test_our_own_catalogues_compile(tmp_path):
    for po in startup.LOCALE.glob("*/LC_MESSAGES/*.po"):
        catalogue = compiled(po.read_text("utf-8"), tmp_path)
        assert catalogue.gettext("Facts") != "Facts"
