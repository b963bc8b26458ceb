from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from memory.llm.complete import complete
from memory.llm.providers.offline import reply
from memory.llm.request import Briefing, ProviderError, Recalled

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
DOG = Recalled(
    "Ana's dog is called Rex", quote="my dog is Rex", said_by="Ana", said_at=NOW, score=0.9,
    by_asker=True,
)  # fmt: skip
SISTER = replace(DOG, text="La hermana de Ana vive en Quito", quote="", score=0.85)
FAR = Recalled("Bo plays chess", said_by="Bo", said_at=NOW, score=0.2)


def say(said, *recalled, level="high", **given):
    return reply(
        Briefing(text=said, now=NOW, person="Ana", recalled=recalled, level=level, **given)
    )


def test_it_answers_from_memory_and_what_you_said_today_needs_no_source():
    assert say("What is my dog called?", DOG, FAR) == "Your dog is called Rex."


def test_it_answers_in_the_language_of_the_question():
    assert say("¿Dónde vive mi hermana?", SISTER) == "Tu hermana vive en Quito."


def test_what_somebody_else_said_is_said_to_be_theirs():
    assert say("What does Bo play?", FAR) == "Bo plays chess. (Bo)"


@pytest.mark.parametrize(
    ("days", "english", "spanish"),
    [
        (1, "(yesterday)", "(ayer)"),
        (9, "(on 1 March)", "(el 1 de marzo)"),
        (90, "(on 10 December 2025)", "(el 10 de diciembre de 2025)"),
    ],
)
def test_it_says_when_as_people_do(days, english, spanish):
    then = NOW - timedelta(days=days)
    assert say("What is my dog called?", replace(DOG, said_at=then)).endswith(english)
    assert say("¿Dónde vive mi hermana?", replace(SISTER, said_at=then)).endswith(spanish)


def test_today_is_the_day_of_the_space():
    late = NOW.replace(hour=23, minute=30)
    madrid = (NOW + timedelta(days=1)).astimezone(ZoneInfo("Europe/Madrid"))
    said = Briefing("What is my dog called?", now=madrid, person="Ana", level="high")
    assert reply(replace(said, recalled=[replace(DOG, said_at=late)])) == "Your dog is called Rex."


def test_several_memories_near_the_best_are_all_told():
    said = say("What do you remember?", DOG, SISTER, FAR)
    assert "Rex" in said
    assert "Quito" in said
    assert "chess" in said


def test_what_was_not_asked_for_is_not_told():
    lives = replace(DOG, text="Ana lives in Madrid", quote="")
    both = replace(DOG, quote="My dog is called Rex and I live in Madrid")
    episode = Recalled("Ana: I live in Madrid\n- Keno: Noted: You live in Madrid.", kind="episode")
    assert say("Where do I live?", lives, both, episode) == "You live in Madrid."


def test_of_an_episode_only_the_line_that_answers_is_told():
    day = "A day in March\n- Ana: the spare keys are with our neighbour Rosa\n- Keno: All right."
    episode = Recalled(day, kind="episode", said_at=NOW, score=0.8)
    said = say("Who has the spare keys?", episode)
    # Whose name stands in an episode is not proof of who asks.
    assert said == "Ana said today: “the spare keys are with our neighbour Rosa”"


def test_who_is_only_called_by_name_is_not_whom_it_is_about():
    bo = Recalled("Hey Gina, I had to close my bank account", kind="message", said_by="Bo")
    told = Recalled("I sell clothes", kind="message", said_by="Gina")
    assert "account" not in say("Why did Gina close her bank account?", bo, told)
    assert "account" in say("What did Bo have to close?", bo, told)


def test_a_picture_without_words_tells_nothing_and_breaks_nothing():
    photo = Recalled("[shares a photo of a beach]", kind="message", said_by="Bo", said_at=NOW)
    assert say("What is my dog called?", photo, DOG) == "Your dog is called Rex."


@pytest.mark.parametrize(
    "said", ["What is my favourite colour?", "¿Cuál es la capital de Francia?"]
)
def test_neither_a_question_nor_its_own_words_nor_something_else_is_an_answer(said):
    asked = Recalled("¿Qué prefiero beber?", kind="message", said_by="Ana", said_at=NOW, score=0.9)
    own = Recalled("Corrected: You live in Paris.", kind="message", said_by="Keno", score=0.9)
    tea = Recalled("Ana prefiere el té verde al café", said_by="Ana", said_at=NOW, score=0.9)
    assert say(said, asked, own, tea, level="low").startswith(("I do not rem", "Solo sé lo que"))


def test_a_line_of_an_episode_gives_way_to_what_was_told_later():
    old = Recalled("- I live in Lima with my cats", kind="episode", said_at=NOW - timedelta(days=9))
    new = Recalled("Ana moved to Oslo", subject="Ana", said_by="Ana", said_at=NOW, by_asker=True)
    assert "Oslo" in (told := say("Where do I live?", old, new))
    assert "Lima" not in told


def test_the_dog_does_not_answer_for_the_cat():
    assert "Rex" not in say("What is my cat called?", DOG)


def test_across_languages_it_answers_in_the_words_that_were_said():
    assert say("¿Cómo se llama mi perro?", DOG) == "En inglés me dijiste hoy: «my dog is Rex»"


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("What is my cat called?", "I do not remember anything about that"),
        ("¿Cómo se llama mi gato?", "No recuerdo nada sobre eso"),
    ],
)
def test_what_it_does_not_know_it_does_not_make_up(said, answer):
    assert say(said, level="none").startswith(answer)


def test_what_a_recall_is_sure_of_is_shown_and_not_denied():
    told = "Jarrah blew up like a balloon and they reckon it was the stings"
    stings = Recalled(told, kind="message", said_by="Ana", said_at=NOW, by_asker=True)
    asked = "what can't my son be around anymore"
    assert "nobody here has told me" in say(asked, stings)
    shown = say(asked, stings, confidence=0.95)
    assert shown.startswith("I do not remember exactly that")
    assert "stings" in shown


def test_it_says_plainly_what_it_cannot_do():
    assert "without a language model" in say("What can you do?")
    assert "sin modelo de lenguaje" in say("¿Qué puedes hacer?")
    assert "no language model" in say("Write me a poem", level="none")
    assert "no tengo modelo" in say("Escríbeme un poema", level="none")


def test_what_is_only_told_is_heard_without_excuses():
    said = say("Hm, the weather turned grey and cold again", level="none")
    assert said.startswith("OK. I did not note that as a fact")


def test_who_denies_something_corrects_nothing():
    assert "tiene coche" not in say("No tengo coche", level="none")
    assert not say("No me des consejos médicos", level="none").startswith(("Corr", "Anotado: me"))
    assert not say("No meat for me", level="none").startswith("Corrected")


def test_a_secret_is_said_to_be_left_out_not_noted():
    said = say("recuerda que la contraseña del wifi es [redacted:password]", level="none")
    assert said.startswith("No guardo contraseñas")
    assert "<memory>" not in said


def test_it_does_not_forget_everything_at_once():
    assert "Name what I should forget" in say("Forget everything", DOG)
    assert "Dime qué debo olvidar" in say("Olvida todo", DOG)


def test_it_greets_by_name_in_both_languages():
    assert ", Ana!" in say("Hi!")
    assert ", Ana!" in say("¡Hola!")


def test_the_first_conversation_says_its_line_and_may_be_over():
    said = say("Fine by me", script="So: short answers, no emojis. Right?", completes=True)
    assert said.startswith("So: short answers, no emojis. Right?")
    assert said.endswith("<bootstrap-complete/>")


def test_the_same_message_always_gets_the_same_answer():
    assert say("What is my dog called?", DOG, FAR) == say("What is my dog called?", DOG, FAR)


def test_it_is_asked_like_any_other_provider(space):
    briefing = Briefing(text="What is my dog called?", now=NOW, recalled=[DOG], level="high")
    seen = []
    completion = complete(
        "chat", space=space, system="", messages=[], briefing=briefing, stream=seen.append
    )
    assert "Rex" in completion.text
    assert seen == [completion.text]
    assert (completion.provider, completion.cost) == ("offline", 0)


def test_without_a_briefing_it_has_nothing_to_answer_from(space):
    with pytest.raises(ProviderError, match="answers chats only"):
        complete("chat", space=space, system="", messages=[{"role": "user", "content": "Hi"}])


def test_a_borrowed_name_is_not_told_you():
    stranger = replace(DOG, by_asker=False)
    said = say("What is my dog called?", stranger)
    assert said == "Ana's dog is called Rex. (Ana)"


@pytest.mark.parametrize(
    ("fact", "told"),
    [
        ("Ana's dog is called Rex", "Noted: Your dog is called Rex."),
        ("The spare key is at the neighbour's", "Noted: The spare key is at the neighbour's."),
    ],
)
def test_it_says_what_was_just_learned(fact, told):
    assert say("My dog is called Rex", level="none", learned=[fact]) == told


def test_in_spanish_it_says_anotado():
    said = say("Vivo en Lisboa", level="none", learned=["Ana vive en Lisboa"])
    assert said == "Anotado: Vives en Lisboa."


def test_a_wish_about_itself_is_put_before_people():
    assert "I have passed your wish on" in say("Answer me in French", level="none", wishes=True)
    assert "le presento tu deseo" in say("Respóndeme en francés", level="none", wishes=True)


@pytest.mark.parametrize(
    "said", ["What is my dog called?", "¿Dónde vivo?", "Hola", "My dog is called Rex", "ok", ""]
)
def test_it_writes_no_tag_for_a_fact(said):
    assert "<" not in say(said, level="none")


def test_a_plan_becomes_the_working_note_and_the_old_one_is_kept():
    said = say("I need to call the bank", level="none", working="Task: mend the bicycle")
    note = said.partition("<working-memory>")[2].partition("</")[0]
    assert "call the bank" in note
    assert "mend the bicycle" in note


def test_it_tells_and_asks_in_one_message():
    said = say("I like hiking. What is my dog called?", DOG, learned=["Ana likes hiking"])
    assert "You like hiking." in said
    assert "Rex" in said


LISBON = replace(DOG, text="Ana lives in Lisbon", subject="Ana", quote="I live in Lisbon")


def test_who_is_named_must_be_who_it_is_about():
    assert "Lisbon" not in say("Where does Bo live?", LISBON, FAR)
    assert "Lisbon" in say("Where does Ana live?", LISBON, FAR)


def test_what_was_said_last_is_where_somebody_lives():
    pune = Recalled(
        "My name is Priya and I live in Pune.", kind="message", said_by="Priya",
        said_at=NOW - timedelta(days=60), score=0.9,
    )  # fmt: skip
    goa = Recalled(
        "Priya moved to Goa for the winter", subject="Priya", said_by="Priya",
        said_at=NOW - timedelta(days=4), score=0.5,
    )  # fmt: skip
    for asked in ("Where does Priya live?", "¿Dónde vive Priya?"):
        answer = say(asked, pune, goa)
        assert "Goa" in answer
        assert "Pune" not in answer


def test_a_move_for_work_is_not_where_somebody_works():
    moved = replace(DOG, text="Ana moved to Bristol last month for work", quote="", subject="Ana")
    clinic = replace(DOG, text="Ana works at a clinic", quote="", subject="Ana", score=0.5)
    assert say("Where do I work?", moved, clinic) == "You work at a clinic."
    assert say("Where do I work?", moved).startswith("I do not remember")
    quit_it = replace(clinic, text="Ana quit the clinic last week", said_at=NOW)
    clinic = replace(clinic, said_at=NOW - timedelta(days=30))
    assert "quit the clinic" in say("Where do I work?", clinic, quit_it)


def test_somebody_who_is_still_somewhere_lives_there():
    jess = replace(DOG, text="Ana's girlfriend Jess is still in Swansea", quote="", subject="Jess")
    assert "Swansea" in say("where does Jess live?", jess)


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("Hola, ¿qué tal?", "gracias"),
        ("tell me a joke", "jokes"),
        ("cuéntame un chiste", "chistes"),
        ("gracias, eres un sol", "De nada."),
        ("My dog Rex died yesterday", "sorry for your loss"),
        ("Se murió mi abuela", "Lo siento"),
        ("I'm feeling a bit sad today", "sorry to hear"),
        ("asdfgh", "did not understand"),
        ("شكرا جزيلا، اسمي ليلى", "English and Spanish"),
        ("Remind me to call Bo on Tuesday", "I need a day and an hour"),
        ("Recuérdame comprar leche mañana", "necesito un día y una hora"),
        ("What is the capital of France?", "only know what people here have told me"),
        ("What is my shoe size?", "nobody here has told me"),
    ],
)
def test_each_case_has_its_own_sentence(said, answer):
    assert answer in say(said, level="none")


def test_an_age_is_computed_from_the_birthday():
    born = replace(DOG, text="Ana's birthday is on March 14 1988", subject="Ana", quote="")
    assert say("How old am I?", born).startswith("You are 37:")
    assert say("¿Cuántos años tengo?", born).startswith("Tienes 37 años:")


def test_what_another_chat_knows_stays_there_and_is_said():
    away = replace(DOG, place="Familia")
    said = say("What is my dog called?", level="none", elsewhere=[away])
    assert said == "I know something about that from Familia; it stays there."


def test_a_cost_that_nobody_told_is_not_guessed():
    grill = replace(DOG, text="Ana bought a grill for the terrace", quote="")
    assert "grill" not in say("How much did the grill cost?", grill)


@pytest.mark.parametrize(
    ("asked", "question", "reply_"),
    [
        ("What does Bo play?", "Do you play anything?", "Yes, the cello, since I was six"),
        ("¿Qué toca Bo?", "¿Tocas algo?", "Sí, el chelo, desde los seis años"),
    ],
)
def test_a_few_words_that_answer_are_told_with_the_question(asked, question, reply_):
    heard = Recalled(
        reply_, kind="message", said_by="Bo", said_at=NOW, score=0.9, replies_to=question
    )
    assert f"{question} – {reply_}" in say(asked, heard)
    assert question not in say(asked, replace(heard, replies_to=""))


def test_in_an_episode_a_line_answers_the_line_of_somebody_else_before_it():
    body = "Ana: Do you play anything?\nBo: Yes, the cello, since I was six"
    episode = Recalled(body, kind="episode", said_at=NOW, score=0.9)
    assert "Do you play anything? – Yes, the cello" in say("What does Bo play?", episode)


def test_what_holds_the_word_that_is_asked_for_is_not_denied():
    teaches = Recalled("On fridays Ana teaches pilates", kind="fact", subject="Ana", said_at=NOW)
    works = replace(teaches, text="Ana works as a physiotherapist at Clinica Sol, mon to thu")
    reply = say("Did I tell you anything about pilates?", works, teaches)
    assert "pilates" in reply
    assert "do not remember anything" not in reply


def test_what_holds_the_word_and_not_the_kind_that_is_asked_for_is_no_nearest_answer():
    heard = "I have always had a love for horses"
    loves = Recalled(heard, kind="message", said_by="Ana", said_at=NOW, score=0.9)
    assert "horses" not in say("What is the name of Ana's horse?", loves)
