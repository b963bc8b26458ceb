from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from memory import rulings
from memory.chats import service as chats
from memory.episodes import service as episodes
from memory.history import actors
from memory.history import changes as history
from memory.models import Episode, Message
from tests.factories import make_chat, make_episode, make_space

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 2, 13, 15, 45, tzinfo=UTC)
ANA = actors.person("ana")


@pytest.fixture
def space():
    return make_space("home")


@pytest.fixture
def chat(space):
    return make_chat(space)


def say(chat, text, minutes=0, **given):
    given = {"author": "Ana", "sent_at": NOW + timedelta(minutes=minutes)} | given
    return chats.receive(chat, text=text, **given).message


def follow(chat, text, minutes=0, **given):
    return episodes.follow(say(chat, text, minutes, **given))


def test_messages_of_one_topic_are_one_episode(chat):
    first = follow(chat, "The webhook of n8n gives a 401", 0)
    again = follow(chat, "ok, and now?", 200, author="Bo")
    assert first == again
    again.refresh_from_db()
    assert (again.participants, again.ended_at) == (["Ana", "Bo"], NOW + timedelta(minutes=200))
    assert episodes.transcript(again) == "Ana: The webhook of n8n gives a 401\nBo: ok, and now?"


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("/new-topic", 1),
        ("good morning", 241),
        ("still there?", 9 * 60),
        ("Tomorrow my sister arrives and we cook paella together", 20),
    ],
    ids=["command", "silence", "day", "topic"],
)
def test_a_boundary_closes_one_and_begins_the_next(chat, text, minutes):
    first = follow(chat, "The webhook of n8n gives a 401 error after every deploy")
    follow(chat, "The token of that webhook expired", 1)
    second = follow(chat, text, minutes + 1)
    first.refresh_from_db()
    assert (first.status, second.status) == ("closed", "open")
    assert first.title.startswith("The webhook of n8n")
    assert "webhook" in first.tags
    assert second != first


ONE_TOPIC = {
    "en": [
        "The n8n webhook gives a 401 when GitHub calls it",
        "Does it want the token in the header or somewhere else?",
        "I checked the header and it is there, still 401",
        "Could the credentials be wrong? I made new ones yesterday",
        "curl from my laptop gives the same answer",
        "The docs of n8n speak about query parameters for webhooks",
        "I put the token in the query string of the URL",
        "Now GitHub gets a 200 and the workflow runs",
        "Solved: the webhook wants the token in the query string, the header is ignored",
    ],
    "es": [
        "El webhook de n8n da un 401 cuando lo llama GitHub",
        "¿Quiere el token en la cabecera o en otro lado?",
        "Revisé la cabecera y ahí está, sigue el 401",
        "¿Estarán mal las credenciales? Hice unas nuevas ayer",
        "curl desde mi laptop da la misma respuesta",
        "La documentación de n8n habla de parámetros en la URL para los webhooks",
        "Puse el token en la query de la URL",
        "Ahora GitHub recibe un 200 y el flujo corre",
        "Resuelto: el webhook quiere el token en la query, la cabecera se ignora",
    ],
}
OTHER_TOPIC = {
    "en": [
        "My sister Elena is coming on Saturday with her two kids",
        "We want to cook paella for eleven people in the garden",
        "Elena does not eat seafood, so one pan is with chicken",
        "The kids sleep in the living room on the inflatable bed",
        "I still have to buy the rice and a bigger pan for the paella",
        "Grandma brings her flan and the good wine from Rioja",
    ],
    "es": [
        "Mi hermana Elena llega el sábado con sus dos niños",
        "Queremos hacer paella para once personas en el jardín",
        "Elena no come mariscos, así que una va con pollo",
        "Los niños duermen en la sala en el colchón inflable",
        "Todavía tengo que comprar el arroz y una sartén más grande para la paella",
        "La abuela trae su flan y el vino bueno de la Rioja",
    ],
}


@pytest.mark.parametrize("language", ["en", "es"])
def test_nine_turns_about_one_thing_are_one_episode(space, chat, language):
    for minute, line in enumerate(ONE_TOPIC[language]):
        follow(chat, line, minute)
    episodes.close_quiet(space, before=NOW + timedelta(hours=1), by="night")
    episode = Episode.objects.get()
    assert "401" in episode.title
    assert {"webhook", "token"} <= set(episode.tags)
    assert "query" in episode.body


@pytest.mark.parametrize("language", ["en", "es"])
def test_a_session_about_two_things_ends_as_two_episodes_and_undo_makes_it_one(chat, language):
    lines = [*ONE_TOPIC[language], *OTHER_TOPIC[language]]
    for minute, line in enumerate(lines):
        follow(chat, line, minute)
    done = episodes.close(episodes.current(chat), by="night")
    first, second = Episode.objects.order_by("started_at")
    assert "webhook" in first.tags
    assert "paella" in second.tags
    assert "webhook" not in second.body
    assert {first.status, second.status} == {"closed"}
    assert first.ended_at < second.started_at
    assert first.messages.count() + second.messages.count() == len(lines)
    history.undo_context(done.change_id, by="person:ana")
    first.refresh_from_db()
    assert (first.status, first.messages.count()) == ("open", len(lines))
    assert Episode.objects.remembered().count() == 1


def test_what_keno_answered_is_not_what_an_episode_is_called(chat):
    asked = say(chat, "My sister Elena got married in Oaxaca last spring")
    episodes.follow(asked)
    for minute in range(1, 4):
        text = "All right. I keep that in our conversation about Elena and Oaxaca."
        answer = chats.reply(chat, text=text, to=asked, now=NOW + timedelta(minutes=minute))
        episodes.follow(answer)
    episode = episodes.close(episodes.current(chat), by="night").row
    assert episode.title == "My sister Elena got married in Oaxaca last spring"
    assert "All right" not in episode.body
    assert "ana" not in episode.tags


def test_the_caller_may_judge_topics_by_vectors(chat):
    first = follow(chat, "one")
    message = say(chat, "two", 20)
    assert episodes.follow(message, likeness=lambda said, talk: 0.1) != first


def test_following_a_message_twice_is_once(chat):
    message = say(chat, "hello")
    assert episodes.follow(message) == episodes.follow(message)
    assert Episode.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_many_messages_at_once_begin_one_episode(chat):
    said = [say(chat, f"message {n}") for n in range(8)]

    def work(message):
        try:
            return episodes.follow(message).pk
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(work, said))) == 1


def test_a_night_closes_what_is_quiet(space, chat):
    follow(chat, "The webhook gives a 401")
    assert episodes.close_quiet(space, before=NOW, by="night") == 0
    assert episodes.close_quiet(space, before=NOW + timedelta(hours=1), by="night") == 1
    assert Episode.objects.get().status == "closed"


def test_a_model_may_write_the_body_and_its_failure_costs_nothing(chat):
    episode = follow(chat, "The webhook gives a 401. " * 40)
    copy = Episode.objects.get(pk=episode.pk)
    episodes.close(copy, by="night", complete=lambda prompt: "- a summary")
    assert copy.body == "- a summary"

    def broken(prompt):
        raise TimeoutError

    other = follow(chat, "The webhook gives a 401. " * 40, 300)
    episodes.close(other, by="night", complete=broken)
    assert other.body.startswith("- ")


def test_a25_a23_an_episode_of_a_chat_is_seen_there_only(space, chat):
    other = make_chat(space)
    mine = episodes.write(space, chat=chat, body="secret for A", by="tag", started_at=NOW).row
    episodes.write(space, chat=other, body="secret for B", by="tag", started_at=NOW)
    shared = episodes.write(space, body="for all", by="person:ana", started_at=NOW).row
    assert set(Episode.objects.in_scope(chat)) == {mine, shared}
    assert (mine.status, mine.source, mine.started_at) == ("closed", "tag", NOW)
    assert (shared.source, shared.sticky) == ("person", True)


@pytest.mark.parametrize("body", ["", "  ", "\x00"])
def test_an_empty_episode_is_none(space, body):
    assert episodes.write(space, body=body, by="tag").outcome == "empty"


def test_the_same_event_is_written_once(space, chat):
    episodes.write(space, chat=chat, body="Deployed v2", by="tag", started_at=NOW)
    again = episodes.write(space, chat=chat, body="Deployed v2", by="tag", started_at=NOW)
    later = NOW + timedelta(days=3)
    episodes.write(space, chat=chat, body="Deployed v2", by="tag", started_at=later)
    assert (again.outcome, Episode.objects.count()) == ("again", 2)


def test_a_ruling_keeps_an_episode_out(space):
    rulings.forbid(space, text="Ana was in hospital", by=ANA)
    assert episodes.write(space, body="ana was in hospital", by="tag").outcome == "refused"


def test_n13_discarded_with_a_reason_and_restored_within_seven_days(space):
    episode = make_episode(space)
    episodes.discard(episode, by=ANA, reason="wrong", now=NOW)
    assert (episode.status, episode.discard_reason) == ("discarded", "wrong")
    assert list(Episode.objects.remembered()) == []
    assert episodes.discard(episode, by=ANA).outcome == "unchanged"
    almost = NOW + timedelta(days=6, hours=23)
    assert not episodes.expired(space, now=almost)
    episodes.restore(episode, by=ANA, now=almost)
    assert (episode.status, episode.discard_reason, episode.discarded_at) == ("closed", "", None)


def test_n13_after_seven_days_it_is_gone(space):
    episode = make_episode(space)
    episodes.discard(episode, by=ANA, now=NOW)
    late = NOW + timedelta(days=7)
    assert episodes.restore(episode, by=ANA, now=late).outcome == "refused"
    assert episodes.expired(space, now=late).get() == episode


def test_an_archived_episode_comes_back_archived_and_an_open_one_closed(space, chat):
    old = make_episode(space, status="archived")
    opened = follow(chat, "hello")
    for episode, status in ((old, "archived"), (opened, "closed")):
        episodes.discard(episode, by=ANA, now=NOW)
        episodes.restore(episode, by=ANA, now=NOW)
        assert episode.status == status


def test_a_discard_can_be_undone(space):
    episode = make_episode(space)
    done = episodes.discard(episode, by=ANA, reason="wrong")
    history.undo_context(done.change_id, by=ANA)
    episode.refresh_from_db()
    assert (episode.status, episode.discarded_at) == ("closed", None)


def test_purging_the_trash_of_one_chat_leaves_the_others(space, chat):
    make_episode(space, chat=chat, status="discarded", discarded_at=NOW)
    kept = make_episode(space, status="discarded", discarded_at=NOW)
    assert episodes.purge_discarded(space, chat=chat, by=ANA) == 1
    assert list(Episode.objects.all()) == [kept]


def test_a_person_revises_and_no_machine_changes_it_again(space):
    episode = make_episode(space)
    episodes.revise(episode, by=ANA, title="Better", tags=["a", "a", "", "b" * 99])
    assert (episode.title, episode.tags) == ("Better", ["a", "b" * 64])
    assert episodes.revise(episode, by="night", title="Worse").outcome == "refused"


def test_feedback_is_positive_or_negative(space):
    episode = make_episode(space)
    assert episodes.rate(episode, feedback="positive", by=ANA).changed
    with pytest.raises(episodes.Invalid):
        episodes.rate(episode, feedback="meh", by=ANA)


def test_a_summary_takes_the_place_of_what_is_old(space, chat):
    some = [
        make_episode(space, chat=chat, body=f"The webhook failed on day {n}.", started_at=NOW)
        for n in range(3)
    ]
    done = episodes.summarise(some, by="night", now=NOW)
    made = done.row
    assert made.summary_of == [one.pk for one in some]
    assert (made.chat, made.consolidated_at, done.count) == (chat, NOW, 3)
    assert {one.status for one in Episode.objects.exclude(pk=made.pk)} == {"archived"}
    history.undo_context(done.change_id, by=ANA)
    assert set(Episode.objects.filter(status="closed")) == set(some)


def test_the_title_of_a_summary_has_one_full_stop_at_most(space, chat):
    titles = ("Acordamos salir a Mazunte.", "La cabaña de Mazunte está pagada.", "Nos vemos.")
    some = [make_episode(space, chat=chat, title=one, body="", started_at=NOW) for one in titles]
    made = episodes.summarise(some, by="night", now=NOW).row
    assert made.title in titles


def test_merging_keeps_every_word_and_every_message(space, chat):
    first, second = follow(chat, "one"), follow(chat, "two", 300)
    for one in (first, second):
        episodes.close(one, by="bot")
    done = episodes.merge([second, first], by=ANA)
    made = done.row
    assert made.body == "- Ana: one\n\n- Ana: two"
    assert [m.text for m in episodes.messages_of(made)] == ["one", "two"]
    assert (made.started_at, made.ended_at) == (first.started_at, second.ended_at)
    for one in (first, second):
        episodes.purge(one, by=ANA)
    assert [m.text for m in episodes.messages_of(made)] == ["one", "two"]


def test_a_merge_is_undone_whole(space, chat):
    some = [make_episode(space, chat=chat), make_episode(space, chat=chat)]
    done = episodes.merge(some, by=ANA)
    assert {one.status for one in Episode.objects.exclude(pk=done.row.pk)} == {"archived"}
    history.undo_context(done.change_id, by=ANA)
    assert set(Episode.objects.filter(status="closed")) == set(some)


@pytest.mark.parametrize("verb", [episodes.merge, episodes.summarise])
def test_d4_what_one_chat_said_is_never_joined_with_another(space, chat, verb):
    apart = [make_episode(space, chat=chat), make_episode(space, chat=make_chat(space))]
    with pytest.raises(episodes.Invalid, match="same chat"):
        verb(apart, by="night")
    with pytest.raises(episodes.Invalid):
        verb([], by="night")
    assert Episode.objects.count() == 2


def test_splitting_gives_each_part_its_messages_and_undo_gives_them_back(chat):
    episode = follow(chat, "The webhook gives a 401")
    follow(chat, "and the paella is ready", 10)
    with pytest.raises(episodes.Invalid):
        episodes.split(episode, at=NOW + timedelta(minutes=5), by=ANA)
    episodes.close(episode, by="bot")
    done = episodes.split(episode, at=NOW + timedelta(minutes=5), by=ANA)
    assert [m.text for m in episodes.messages_of(episode)] == ["The webhook gives a 401"]
    assert [m.text for m in episodes.messages_of(done.row)] == ["and the paella is ready"]
    history.undo_context(done.change_id, by=ANA)
    assert episodes.messages_of(episode).count() == 2
    history.undo(history.history(done.row)[0], by=ANA)
    assert [m.text for m in episodes.messages_of(done.row)] == ["and the paella is ready"]


def test_an_episode_is_written_and_read_as_the_seed_shows(space, chat):
    episode = make_episode(
        space,
        chat=chat,
        title="Conversation about n8n",
        body="It failed.\n\n**Learning:** query params.",
        tags=["n8n", "401"],
        participants=["Adrian"],
        started_at=datetime(2026, 2, 13, 14, 30, tzinfo=UTC),
    )
    written = episodes.as_markdown(episode)
    assert written.startswith(f"---\ntimestamp: 2026-02-13T14:30:00Z\nsession: {chat.key}\n")
    read = episodes.from_markdown(written)
    for name in ("title", "body", "tags", "participants", "started_at", "status"):
        assert read[name] == getattr(episode, name)
    assert read["session"] == chat.key


def test_a_discarded_episode_says_so_in_its_file(space):
    episode = make_episode(space, status="discarded", discard_reason="wrong: all of it")
    read = episodes.from_markdown(episodes.as_markdown(episode))
    assert (read["status"], read["discard_reason"]) == ("discarded", "wrong: all of it")


def test_messages_survive_the_purge_of_their_episode(chat):
    episode = follow(chat, "hello")
    episodes.purge(episode, by=ANA)
    assert Message.objects.get().episode is None


def test_an_answer_belongs_to_what_it_answers(chat):
    asked = say(chat, "How do I mend the puncture of my bicycle?", 0)
    first = episodes.follow(asked)
    answer = chats.reply(chat, text="Rubber patches, a pump and patience.", to=asked, now=NOW)
    assert episodes.follow(answer, likeness=lambda said, talk: 0.0) == first
