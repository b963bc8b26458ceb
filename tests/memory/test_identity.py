import ast
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import identity, rulings
from memory.history import actors
from memory.history import changes as history
from memory.identity import core, preferences, rules
from memory.models import Identity, Preference, Rule
from tests.factories import make_space

pytestmark = pytest.mark.django_db
ANA = actors.person("ana")
ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def space():
    return make_space("home")


def test_a_space_has_the_shipped_core_in_its_language(space):
    assert core.read(space).startswith("# Keno\n\nI am Keno")
    assert "Soy Keno" in core.read(make_space(language="es"))


def test_a_person_words_the_core_and_takes_it_back(space):
    core.write(space, text="I am Bo.", by=ANA)
    done = core.write(space, text="I am Cleo.", by=ANA)
    assert core.read(space) == "I am Cleo."
    history.undo_context(done.change_id, by=ANA)
    assert core.read(space) == "I am Bo."
    core.write(space, text="  ", by=ANA)
    assert core.read(space) == core.shipped("en")


@pytest.mark.parametrize("by", ["bot", "tag", "extraction", "night:1", "import", "person:", ""])
def test_no_machine_writes_the_core_or_a_rule(space, by):
    with pytest.raises(actors.PersonNeeded):
        core.write(space, text="I obey.", by=by)
    with pytest.raises(actors.PersonNeeded):
        rules.put(space, instruction="Obey.", by=by)
    with pytest.raises(actors.PersonNeeded):
        rules.retire(space, slug="no-secrets", by=by)
    assert Identity.objects.count() == Rule.objects.count() == 0


def writes_core(source: str) -> list[str]:
    """Ways in which this source could write the core of an identity."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "memory.identity.core":
            found += [f"imports {alias.name}" for alias in node.names if alias.name == "write"]
        if isinstance(node, ast.Attribute) and node.attr == "write":
            owner = node.value
            name = getattr(owner, "attr", getattr(owner, "id", ""))
            found += ["calls core.write"] if name == "core" else []
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found += [
                "assigns .core"
                for t in targets
                if isinstance(t, ast.Attribute) and t.attr == "core"
            ]
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            named = {keyword.arg for keyword in node.keywords}
            if name in {"Identity", "create", "update", "update_or_create"} and "core" in named:
                found.append(f"{name}(core=…)")
    return found


MACHINES = sorted(
    file
    for room in ("bot", "sleep", "memory")
    for file in (ROOT / room).rglob("*.py")
    if not {"migrations", "transfer", "management"} & set(file.parts)
    and file != ROOT / "memory/identity/core.py"
)


def test_no_code_of_the_bot_the_night_or_extraction_writes_the_core():
    assert len(MACHINES) > 50
    assert {file: found for file in MACHINES if (found := writes_core(file.read_text()))} == {}


@pytest.mark.parametrize(
    "source",
    [
        "from memory.identity import core\ncore.write(space, text=x, by=y)",
        "from memory import identity\nidentity.core.write(space)",
        "from memory.identity.core import write",
        "row.core = 'x'",
        "Identity.objects.update(core='x')",
        "Identity(core='x').save()",
    ],
)
def test_a_planted_write_is_found(source):
    assert writes_core(source)


def test_d7_n15_the_shipped_rules_reach_the_prompt(space):
    for language in ("en", "es"):
        section = identity.prompt(make_space(language=language))
        assert "## Behavioral Guidelines" in section
        assert "## Forbidden Patterns" in section
        assert len(rules.shipped(language)) >= 5


ENGINE = {
    "behavioral": [
        {"category": "response-style", "instruction": "Be brief.", "examples": ["Yes.", "No."]},
        {"instruction": "Ask first."},
    ],
    "forbidden": [{"pattern": "um", "reason": "filler"}, {"pattern": "let me just"}],
}
TEMPLATE = {
    "rules": [
        {
            "id": "brief",
            "instruction": "Be brief.",
            "forbidden_patterns": ["um"],
            "examples": [{"user": "Hi", "assistant": "Hello."}, {"user": "?", "bad": "Well..."}],
        }
    ]
}


def test_both_shapes_of_rules_are_read(space):
    engine = rules.read(json.dumps(ENGINE))
    assert [(one["slug"], one["category"]) for one in engine] == [
        ("be-brief", "response-style"),
        ("ask-first", "general"),
        ("forbidden", "general"),
    ]
    assert engine[2]["forbidden"][0] == {"phrase": "um", "reason": "filler", "pattern": False}
    (template,) = rules.read(TEMPLATE)
    assert template["slug"] == "brief"
    assert template["examples"] == [
        {"user": "Hi", "good": "Hello."},
        {"user": "?", "bad": "Well..."},
    ]
    assert template["forbidden"][0]["phrase"] == "um"


def test_rules_are_written_as_they_are_read(space):
    given = rules.read(TEMPLATE) + rules.read(ENGINE)
    rows = [Rule(space=space, **one) for one in given]
    back = rules.read(rules.as_json(rows))
    assert [one | {"position": 0} for one in back] == [one | {"position": 0} for one in given]


@pytest.mark.parametrize("bad", ["{", "3", '"x"', "[" * 100_000, "null"])
def test_what_is_no_rules_file_is_refused_with_a_sentence(bad):
    with pytest.raises(rules.Invalid, match="JSON"):
        rules.read(bad)


@given(
    st.recursive(
        st.none() | st.text() | st.integers(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "rules",
                        "behavioral",
                        "forbidden",
                        "id",
                        "instruction",
                        "examples",
                        "forbidden_patterns",
                        "user",
                        "pattern",
                    ]
                ),
                x,
            )
        ),
    )
)
def test_any_json_gives_rules_or_a_sentence(written):
    try:
        for one in rules.read(written):
            assert one["instruction"] or one["forbidden"]
    except (rules.Invalid, rules.BadPattern):
        pass


def test_the_prompt_is_printed_as_the_seeds_print_it(space):
    for slug in [one["slug"] for one in rules.shipped("en")]:
        rules.retire(space, slug=slug, by=ANA)
    core.write(space, text="I am Keno.", by=ANA)
    for one in rules.read(ENGINE):
        rules.put(space, by=ANA, **{k: v for k, v in one.items() if k != "position"})
    preferences.put(space, key="Length", value="concise", by=ANA)
    assert identity.prompt(space) == (
        "I am Keno.\n\n---\n\n"
        "## Behavioral Guidelines\n\n"
        "### Response Style\n- Be brief.\n  Examples:\n  - Yes.\n  - No.\n\n"
        "### General\n- Ask first.\n\n"
        '## Forbidden Patterns\n- "um" (filler)\n- "let me just"\n\n---\n\n'
        "## Preferences\n\n- Length: concise"
    )
    assert "Preferences" not in identity.prompt(space, with_preferences=False)


def test_a_shipped_rule_is_worded_anew_retired_and_back(space):
    rules.put(space, slug="no-secrets", instruction="Keep secrets.", by=ANA)
    assert [r.instruction for r in rules.active(space) if r.slug == "no-secrets"] == [
        "Keep secrets."
    ]
    done = rules.retire(space, slug="no-secrets", by=ANA)
    assert "no-secrets" not in {r.slug for r in rules.active(space)}
    history.undo_context(done.change_id, by=ANA)
    assert "no-secrets" in {r.slug for r in rules.active(space)}


def test_undoing_a_first_retirement_brings_the_shipped_rule_back(space):
    done = rules.retire(space, slug="no-secrets", by=ANA)
    history.undo_context(done.change_id, by=ANA)
    assert "no-secrets" in {r.slug for r in rules.active(space)}


def test_an_own_rule_is_added_and_retired(space):
    done = rules.put(space, instruction="Use the metric system.", by=ANA)
    assert rules.put(space, instruction="Use the metric system.", by=ANA).outcome == "unchanged"
    assert rules.retire(space, slug=done.row.slug, by=ANA).changed
    assert rules.retire(space, slug=done.row.slug, by=ANA).outcome == "unchanged"
    assert len(rules.active(space)) == len(rules.shipped("en"))


def test_a_rule_that_says_nothing_is_refused(space):
    with pytest.raises(rules.Invalid):
        rules.put(space, instruction=" ", by=ANA)


def hits(reply, *forbidden):
    rule = Rule(slug="r", forbidden=[{"phrase": phrase} for phrase in forbidden])
    return [one.phrase for one in rules.violations(reply, [rule])]


def test_a77_forbidden_phrases_are_found_in_any_case(space):
    assert hits("UM, LET ME JUST", "um", "let me just") == ["um", "let me just"]
    assert hits("All clear.", "um", "let me just") == []
    assert hits("A summary of the album", "um") == []


@pytest.mark.parametrize(
    ("reply", "phrase", "found"),
    [
        ("Qué ¡ay! dijo", "¡ay!", True),
        ("la señora", "señor", False),
        ("STRASSE", "straße", True),
        ("let   me\njust", "let me just", True),
        ("C++!", "c++", True),
        ("(um)", "um", True),
        ("x", "", False),
    ],
)
def test_literal_phrases_count_between_word_borders(reply, phrase, found):
    assert bool(hits(reply, phrase)) is found


def test_a_pattern_is_opt_in_and_linear(space):
    slow = {"phrase": "(a+)+$", "pattern": True}
    done = rules.put(space, slug="x", forbidden=[slow, {"phrase": "a.c"}], by=ANA)
    assert [one.phrase for one in rules.violations("a" * 50_000 + "!", [done.row])] == []
    assert [one.phrase for one in rules.violations("abc", [done.row])] == []
    assert [one.phrase for one in rules.violations("baaa", [done.row])] == ["(a+)+$"]


@pytest.mark.parametrize("pattern", ["(", r"(?=x)", "a" * 501, r"\1"])
def test_a_pattern_that_cannot_be_used_is_refused_with_a_sentence(space, pattern):
    with pytest.raises(rules.BadPattern, match=r"pattern"):
        rules.put(space, slug="x", forbidden=[{"phrase": pattern, "pattern": True}], by=ANA)


@given(st.text(), st.text())
def test_checking_a_reply_never_fails(reply, phrase):
    for pattern in (True, False):
        rules.find_phrases(reply, [rules.Phrase(phrase, pattern=pattern)])


def test_many_replies_are_checked_by_the_rules_of_the_space(space):
    found = rules.violations_of(space, ["Great question! It is 8443.", "It is 8443."])
    assert [bool(one) for one in found] == [True, False]


def test_a15_user_tags_are_preferences(space):
    preferences.learn(space, sentence="Timezone: America/Mexico_City", by="tag")
    preferences.learn(space, sentence="Report format: concise bullet points", by="tag")
    preferences.learn(space, sentence="likes short answers", by="tag")
    preferences.learn(space, sentence="Likes short answers.", by="tag")
    assert [(p.key, p.value) for p in preferences.active(space)] == [
        ("Timezone", "America/Mexico_City"),
        ("Report format", "concise bullet points"),
        ("learned", "Likes short answers."),
    ]


def test_a78_saving_answers_adds_to_what_is_there(space):
    preferences.put(space, key="Length", value="concise", by=ANA)
    preferences.put(space, key="Boundaries", value="no jokes", section="Boundaries", by="bot")
    preferences.put(space, key="length", value="long", by=ANA)
    assert preferences.as_markdown(preferences.active(space)) == (
        "# User Preferences\n\n- Length: long\n\n## Boundaries\n- Boundaries: no jokes"
    )


def test_a78_the_marker_says_whether_the_first_conversation_goes_on(space):
    assert not identity.bootstrap.is_active(space)
    marker = Identity.objects.create(space=space, bootstrap={})
    assert identity.bootstrap.is_active(space)
    marker.bootstrap = None
    marker.save()
    assert not identity.bootstrap.is_active(space)


def test_a_persons_preference_is_sticky_and_undone(space):
    done = preferences.put(space, key="Length", value="concise", by=ANA)
    assert preferences.learn(space, sentence="Length: endless", by="tag").outcome == "refused"
    assert preferences.active(space)[0].value == "concise"
    history.undo_context(done.change_id, by=ANA)
    assert not preferences.active(space)


def test_a_preference_is_dropped_softly(space):
    row = preferences.put(space, key="Length", value="concise", by=ANA).row
    done = preferences.drop(row, by=ANA)
    assert not preferences.active(space)
    history.undo_context(done.change_id, by=ANA)
    assert preferences.active(space)


def test_a_ruling_keeps_a_preference_out(space):
    rulings.forbid(space, text="prefers to be called Boss", by=ANA)
    done = preferences.learn(space, sentence="Prefers to be called Boss", by="tag")
    assert (done.outcome, Preference.objects.count()) == ("refused", 0)
