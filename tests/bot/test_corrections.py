import pytest

from bot import turn
from memory.chats import inbox
from memory.history import changes as history
from memory.models import Fact, Message
from tests.bot.conftest import after
from tests.factories import make_chat


def say(chat, text, seconds, **given):
    message = inbox.receive(chat, text=text, now=after(seconds), **{"author": "Ana"} | given)
    turn.answer(message.pk, now=after(seconds + 2))


def believed(status="active"):
    return sorted(Fact.objects.filter(status=status).values_list("text", flat=True))


@pytest.mark.parametrize(
    ("first", "second", "old", "new"),
    [
        (
            "I live in Lisbon",
            "Actually, I live in Porto now",
            "Ana lives in Lisbon",
            "Ana lives in Porto now",
        ),
        (
            "Mi hermana se llama María",
            "No, es Marta",
            "La hermana de Ana se llama María",
            "La hermana de Ana se llama Marta",
        ),
        (
            "My dog is called Rex",
            "No, mi perro se llama Toby",
            "Ana's dog is called Rex",
            "El perro de Ana se llama Toby",
        ),
        (
            "My dog is called Rex",
            "no, Max",
            "Ana's dog is called Rex",
            "Ana's dog is called Max",
        ),
        ("I have two cats", "Sorry, I have three cats", "Ana has two cats", "Ana has three cats"),
        (
            "Doctor Patel sees me next Monday at nine thirty",
            "no wait it's not Monday it's Tuesday at nine thirty",
            "Doctor Patel sees Ana next Monday at nine thirty",
            "Doctor Patel sees Ana next Tuesday at nine thirty",
        ),
        (
            "the meeting is on friday at 3",
            "no it's not at 3, it's at 4",
            "the meeting is on friday at 3",
            "the meeting is on friday at 4",
        ),
        (
            "el miercoles tengo entrevista en rappi a las 3pm",
            "nooo la entrevista no es a las 3, es a las 4",
            "El miercoles Ana tiene entrevista en Rappi a las 3pm",
            "El miercoles Ana tiene entrevista en Rappi a las 4",
        ),
        (
            "tengo una perrita que se llama Pelusa y tiene 11 años",
            "no perdón me equivoqué Pelusa tiene 12 años no 11",
            "Ana tiene una perrita que se llama Pelusa y tiene 11 años",
            "Ana tiene una perrita que se llama Pelusa y tiene 12 años",
        ),
        (
            "dentist tues 3.40 at the place on otley rd",
            "no wait its thurs not tues. same time",
            "dentist Tuesday 3.40 at the place on Otley rd",
            "dentist Thursday 3.40 at the place on Otley rd",
        ),
        (
            "My appointment with Dr Leblanc is on the 9th of May at 10:15.",
            "The office rang. My appointment is now the 12th of May, still at 10:15.",
            "Ana's appointment with Dr Leblanc is on the 9th of May at 10:15",
            "Ana's appointment with Dr Leblanc is on the 12th of May at 10:15",
        ),
        (
            "spare house key is in the blue watering can behind the shed",
            "moved the spare key, it's in the meter box now",
            "Spare house key is in the blue watering can behind the shed",
            "Spare house key is in the meter box now",
        ),
        (
            "Los martes y los jueves voy a hidrogimnasia en el club, a las ocho.",
            "La hidrogimnasia la cambiaron: ahora es los lunes y miércoles.",
            "Los martes y los jueves Ana va a hidrogimnasia en el club, a las ocho",
            "Los lunes y miércoles Ana va a hidrogimnasia en el club, a las ocho",
        ),
    ],
)
def test_an_open_correction_takes_the_old_fact_s_place(chat, first, second, old, new):
    say(chat, first, 0)
    assert believed() == [old]
    say(chat, second, 60)
    assert believed() == [new]
    assert believed("superseded") == [old]
    was = Fact.objects.get(text=old)
    assert was.superseded_by.text == new
    assert was.valid_to == after(60)


@pytest.mark.parametrize(
    ("first", "second", "old"),
    [
        (
            "My favourite colour is blue",
            "No, my favourite color is green",
            "Ana's favourite colour is blue",
        ),
        (
            "Mi color favorito es el azul",
            "No, my favourite colour is green",
            "El color favorito de Ana es el azul",
        ),
        ("My favourite editor is VS Code", "Actually, mi editor favorito es Zed", None),
        ("I work at Acme", "Sorry, I work at Globex", None),
        ("My birthday is March 14", "No, my birthday is March 15", None),
    ],
)
def test_another_value_of_the_same_slot_takes_its_place(chat, first, second, old):
    say(chat, first, 0)
    before = believed()
    say(chat, second, 60)
    assert believed("superseded") == ([old] if old else before)
    assert len(believed()) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I live in Lisbon", "Actually, I live in Porto now"),
        ("I live in Lisbon", "Actually, I like tea"),
        ("I like coffee", "Sorry, I like tea"),
        ("I have a cat called Miso", "Wait, I have a dog called Toro"),
        ("I live in Lisbon", "Sorry for the confusion"),
        ("Vivo en Lima", "No, vivo en Quito"),
        ("Me gusta el té", "No, me gusta el café"),
    ],
)
def test_corrected_is_said_only_when_something_gave_way(chat, first, second):
    say(chat, first, 0)
    say(chat, second, 60)
    last = chat.messages.filter(role="assistant").latest("pk").text
    assert ("Corrected" in last or "Corregido" in last) == bool(believed("superseded"))


def test_the_reply_names_what_was_believed_until_now(chat):
    say(chat, "I live in Lisbon", 0)
    say(chat, "Actually, I live in Porto now", 60)
    last = chat.messages.filter(role="assistant").latest("pk").text
    assert last.endswith("Corrected. Until now: You live in Lisbon")


def test_in_spanish_it_says_corregido(chat):
    say(chat, "Mi color favorito es el azul", 0)
    say(chat, "No, mi color favorito es el verde", 60)
    last = chat.messages.filter(role="assistant").latest("pk").text
    assert last.endswith("Corregido. Hasta ahora: Tu color favorito es el azul")


def test_a_borrowed_name_corrects_nothing(chat):
    say(chat, "I live in Lisbon", 0, author_id="7")
    say(chat, "Actually, I live in Porto now", 60, author_id="666")
    assert "Ana lives in Lisbon" in believed()


def test_it_can_be_undone(chat):
    say(chat, "I live in Lisbon", 0)
    say(chat, "Actually, I live in Porto now", 60)
    old = Fact.objects.get(status="superseded")
    history.undo(history.history(old)[0], by="person:ana")
    assert "Ana lives in Lisbon" in believed()


def test_another_home_is_a_change_of_mind_also_without_a_word_of_correction(chat):
    say(chat, "I live in Lisbon", 0)
    say(chat, "I live in Porto", 60)
    assert believed() == ["Ana lives in Porto"]
    last = chat.messages.filter(role="assistant").latest("pk").text
    assert last.endswith("Corrected. Until now: You live in Lisbon")


def test_a_correction_leaves_other_facts_alone(chat):
    say(chat, "My sister lives in Quito", 0)
    say(chat, "I live in Lisbon", 30)
    say(chat, "Actually, I live in Porto now", 60)
    assert believed() == ["Ana lives in Porto now", "Ana's sister lives in Quito"]


def test_who_names_the_old_value_mends_it_hours_later(chat):
    say(chat, "the meeting is on friday at 3", 0)
    say(chat, "no, it's not friday, it's monday", 3 * 3600)
    assert believed() == ["the meeting is on monday at 3"]
    say(chat, "no, Tuesday", 6 * 3600)
    assert "the meeting is on monday at 3" in believed()


def test_a_pinned_fact_is_not_retired_by_a_chat(chat):
    say(chat, "I live in Lisbon", 0)
    Fact.objects.update(pinned=True)
    say(chat, "Actually, I live in Porto now", 60)
    assert len(believed()) == 2


def test_another_space_is_another_world(chat):
    other = make_chat(channel="fake")
    say(other, "I live in Lisbon", 0)
    say(chat, "Actually, I live in Porto now", 60)
    assert len(believed()) == 2


def test_what_was_taken_back_a_moment_ago_is_not_quoted(space, settings):
    settings.PROVIDER = "offline"
    chat = make_chat(space, channel="web")
    say(chat, "we've got Dez's trailer till Sunday, he needs it back before his Geelong job", 0)
    say(chat, "no sorry, Saturday. Dez needs the trailer Saturday", 60)
    say(chat, "when's the trailer going back?", 120)
    reply = Message.objects.filter(chat=chat, role="assistant").latest("pk")
    assert "Saturday" in reply.text
    assert "Sunday" not in reply.text


@pytest.mark.parametrize(
    "asked",
    [
        "en q trabaja el marido d mi hermana",
        "q grupo sanguineo tengo",
        "puedo comer almendras o no",
    ],
)
def test_a_question_in_shorthand_is_answered_and_not_noted(space, settings, asked):
    settings.PROVIDER = "offline"
    chat = make_chat(space, channel="web")
    say(chat, asked, 0)
    assert believed() == []
    assert Message.objects.get(chat=chat, role="user").not_recalled == "question"


@pytest.mark.parametrize(
    ("lent", "back", "asked", "gone"),
    [
        (
            "Lent our camping fridge to Bec across the road, they're off to Lorne for a week",
            "Bec dropped the fridge back, one hinge is broken",
            "who's got our camping fridge?",
            "lent",
        ),
        (
            "le presté el taladro al Negro Sosa",
            "El Negro me devolvió el taladro",
            "¿quién tiene mi taladro?",
            "prest",
        ),
    ],
)
def test_what_came_back_is_not_lent_any_more(space, settings, lent, back, asked, gone):
    settings.PROVIDER = "offline"
    chat = make_chat(space, channel="web")
    say(chat, lent, 0)
    say(chat, back, 60)
    say(chat, asked, 120)
    assert [text for text in believed() if gone in text.lower()] == []
    reply = Message.objects.filter(chat=chat, role="assistant").latest("pk").text
    assert gone not in reply.lower()


@pytest.mark.parametrize(
    ("planned", "off", "gone"),
    [
        ("We booked a cruise to Alaska", "Lorraine fell, so Alaska is off, sadly", "Alaska"),
        ("we are going to krakow in march, flights booked", "krakow is OFF", "Krakow"),
        ("Vamos a Cracovia en marzo con Noe", "se canceló lo de Cracovia", "marzo"),
        ("lachie owes me 60 bucks for the footy tix", "lachie paid up. miracles happen", "60"),
        ("Beto me debe 6,500 pesos del asador", "Beto ya me pagó lo del asador", "6,500"),
    ],
)  # fmt: skip
def test_what_is_off_or_paid_is_over(space, settings, planned, off, gone):
    chat = make_chat(space, channel="telegram")
    say(chat, planned, 0)
    assert [fact for fact in believed() if gone in fact]
    say(chat, off, 60)
    assert [fact for fact in believed("superseded") if gone in fact]


def test_what_was_moved_is_in_the_new_place(chat):
    say(chat, "Spare fuses for the ride are in the blue biscuit tin under the passenger seat", 0)
    say(chat, "moved the fuses by the way theyre in the pay box now", 60)
    assert [fact for fact in believed() if "pay box" in fact]
    assert [fact for fact in believed("superseded") if "biscuit" in fact]


def test_where_it_no_longer_is_is_not_where_it_is_now(chat):
    say(chat, "La llave de repuesto esta en una lata de galletas en la cocina", 0)
    say(
        chat, "ah mentira, la llave de repuesto ya no esta en la lata, la pase al bolsillo azul", 60
    )
    assert believed() == ["La llave de repuesto esta en el bolsillo azul"]


def test_a_day_off_ends_no_plan(chat):
    say(chat, "We have tickets for the Bilbao concert", 0)
    say(chat, "Marcus works in Bilbao and is off at some conference", 60)
    assert believed("superseded") == []


@pytest.mark.parametrize(
    "asked", ["¿Qué taller llevo ahora los viernes?", "qué curso llevo ahora los viernes"]
)
def test_a_question_moves_nothing(chat, asked):
    say(chat, "Estoy llevando un curso de quechua los martes en la noche por Zoom", 0)
    say(chat, asked, 60)
    assert [fact for fact in believed() if "martes" in fact]
    assert not [fact for fact in believed() if "viernes" in fact]


def test_what_was_given_up_for_something_else_is_over_and_not_moved(chat):
    say(chat, "i do salsa on weds w priya from my course", 0)
    say(chat, "had 2 drop salsa bc of evening shifts, doing climbing on thurs w anya instead", 60)
    assert not [fact for fact in believed() if "salsa on Thursday" in fact]
    assert [fact for fact in believed("superseded") if "salsa on Wednesday" in fact]


def test_what_is_no_longer_so_is_kept_as_it_was_said(chat):
    say(chat, "ya no cargo en Algeciras, desde este mes hago la ruta de Huelva", 0)
    assert [fact for fact in believed() if "ya no carga en Algeciras" in fact]
    assert not [fact for fact in believed() if fact.startswith("Cargo")]


@pytest.mark.parametrize(
    ("planned", "moved", "new"),
    [
        (
            "gotta take moose to the vet sat at 9 for his shots",
            "ok so the vet thing is sunday not sat, they called me",
            "sunday at 9",
        ),
        (
            "me and ciara are goin to lanzarote the 8th of june for a week",
            "so the flights arent til the 15th of june now cos ciara messed up",
            "15th of june",
        ),
        (
            "goin to the dentist wednesday half four with the wisdom tooth",
            "dentist rang its friday now same time",
            "friday half four",
        ),
        (
            "el viernes a las 3 tengo q llevar a mariana al oftalmologo",
            "lo de mariana no es el viernes, me lo pasaron pal lunes a las 3",
            "lunes a las 3",
        ),
        (
            "el miercoles a las 11 tengo la mamografia en el hospital",
            "che lo de la mamografia me lo pasaron es el viernes a las 11 no el miercoles",
            "viernes a las 11",
        ),
    ],
)
def test_what_is_moved_in_passing_takes_its_new_day(chat, planned, moved, new):
    say(chat, planned, 0)
    say(chat, moved, 600)
    assert [fact for fact in believed() if new in fact]
    assert believed("superseded")


def test_a_change_of_days_moves_nothing_that_only_shares_a_word_for_time(chat):
    say(chat, "We're flying over to Imogen on 20 October and staying five weeks.", 0)
    say(chat, "I've given up my Wednesdays as of this week, so it's only Mondays now.", 600)
    assert any("20 October" in text for text in believed())
    assert not any("Imogen on Wednesdays" in text for text in believed())
