"""Spanish first-person clauses retold about their author."""

import re
from pathlib import Path

from memory.extraction import rulebook

_VERBS = {
    name: dict(pair.split(">") for pair in pairs.split())
    for name, pairs in rulebook.read(Path(__file__).with_name("verbs_es.txt"))
}
_ADVERBS = (
    r"(?:no|nunca|siempre|casi|ya|también|todavía|aún|solo|sólo|jamás|normalmente|a veces|ahora"
    r"|actualmente|por fin|hace poco)"
)
_VERB = re.compile(rf"(?:yo\s+)?((?:{_ADVERBS}\s+)*)(\w+)\b(.*)", re.I | re.DOTALL)
_TASTE = re.compile(
    r"(?:a mí\s+)?((?:ya\s+|no\s+|nunca\s+|siempre\s+|también\s+)*)me\s+"
    r"((?:gusta|encanta|interesa|molesta|fascina|duele)n?)\b(.*)",
    re.I | re.DOTALL,
)
_SELF = re.compile(rf"(?:yo\s+)?((?:{_ADVERBS}\s+)*)me\s+(\w+)\b(.*)", re.I | re.DOTALL)
_WE = re.compile(rf"(?:nosotros\s+)?((?:{_ADVERBS}\s+)*)(\w+)\b(.*)", re.I | re.DOTALL)
_MY = re.compile(r"(mis?)\s+(\w+)(.*)", re.I | re.DOTALL)
_CALL = re.compile(
    r"(?:por favor,?\s+)?(?:ll[aá]mame|me dicen|me llaman|todos me llaman)\s+(.*)", re.I | re.DOTALL
)
_INSIDE = [
    (re.compile(r"\bmi\b", re.I), "su"),
    (re.compile(r"\bmis\b", re.I), "sus"),
    (re.compile(r"\bconmigo\b", re.I), "consigo"),
    (re.compile(r"\bnuestr[oa]\b", re.I), "su"),
    (re.compile(r"\bnuestr[oa]s\b", re.I), "sus"),
]
_FEMININE = re.compile(r"(?:a|as|ción|sión|dad|tad|tud|mano|foto|moto|madre|mujer|red)$", re.I)
_MASCULINE = re.compile(r"(?:día|mapa|problema|idioma|sistema|programa|tema|jefe|padre)$", re.I)


def retell_spanish(clause: str, author: str) -> str:
    if found := _CALL.fullmatch(clause):
        return f"{author} quiere que le llamen {found[1]}".strip()
    if found := _TASTE.fullmatch(clause):
        no, verb, rest = found.groups()
        return (f"A {author} " if author else "") + f"{no.lower()}le {verb}" + swap(rest, _INSIDE)
    if found := _MY.fullmatch(clause):
        return _own(*found.groups(), author)
    tellings = [
        (_SELF, _VERBS["reflexive"], "se ", author),
        (_WE, _VERBS["group"], "", "El grupo"),
        (_VERB, _VERBS["verb"], "", author),
    ]
    for pattern, verbs, before, who in tellings:
        found = pattern.fullmatch(clause)
        if found and found[2].lower() in verbs:
            told = f"{found[1].lower()}{before}{verbs[found[2].lower()]}{swap(found[3], _INSIDE)}"
            return f"{who} {told}".strip()
    return ""


def _own(my: str, noun: str, rest: str, author: str) -> str:
    """ "Mi hermana vive…" as "La hermana de Ana vive…"."""
    rest = swap(rest, _INSIDE)
    if not author:
        return f"{'Sus' if my.lower() == 'mis' else 'Su'} {noun}{rest}"
    feminine = _FEMININE.search(noun) and not _MASCULINE.search(noun)
    article = {"mi": ("El", "La"), "mis": ("Los", "Las")}[my.lower()][bool(feminine)]
    # "color favorito", "mejor amiga": what belongs to the noun stays before "de".
    more = re.match(
        r"(?:\s+(?:favorit[oa]s?|preferid[oa]s?|amig[oa]s?|mayor|menor|gemel[oa]))+", rest
    )
    kept = more.group() if more else ""
    return f"{article} {noun}{kept} de {author}{rest[len(kept) :]}"


def swap(rest: str, pairs: list[tuple[re.Pattern, str]]) -> str:
    for pattern, other in pairs:
        rest = pattern.sub(other, rest)
    return rest
