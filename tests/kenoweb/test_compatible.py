"""Clients of OpenAI and of mem0 talk to Keno as they are: the real one, and the real addresses."""

import json
from contextlib import ExitStack

import openai
import pytest
from django.core.cache import cache
from django.test import Client

from kenoweb.api import operations
from memory.jobs import RateLimit
from memory.models import Fact, LlmCall, Message, Notice, Recall
from sleep.models import Proposal
from tests.factories import make_chat, make_fact, make_member, make_space, make_token, make_user
from tests.llm.servers import running

CANARY = "zanzibar"


@pytest.fixture(autouse=True)
def free(monkeypatch):
    monkeypatch.setattr(operations, "LIMITS", RateLimit())


@pytest.fixture
def ana():
    return make_member(space=make_space("home"), user=make_user("ana"))


def key_of(member, gate="believe", scopes=("read", "write", "chat")) -> str:
    return make_token(member.space, user=member.user, scopes=list(scopes), gate=gate)[1]


@pytest.mark.django_db(transaction=True)
class TestGateway:
    """The real client of OpenAI, a Keno that runs, and a model that speaks the protocol."""

    @pytest.fixture
    def model(self, settings):
        with running() as server:
            settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = f"{server.url}/v1", ""
            settings.PROVIDER, settings.MODEL = "openai", "llama"
            yield server

    @pytest.fixture(autouse=True)
    def opened(self):
        with ExitStack() as self.until_the_end:
            yield

    def client(self, live_server, key) -> openai.OpenAI:
        made = openai.OpenAI(api_key=key, base_url=f"{live_server.url}/v1", max_retries=0)
        return self.until_the_end.enter_context(made)

    def ask(self, client, words, **more):
        turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": words}]
        return client.chat.completions.with_raw_response.create(
            model="keno", messages=turns, **more
        )

    def test_memory_goes_in_and_a_receipt_comes_out(self, live_server, ana, model):
        make_fact(ana.space, text="Ana keeps bees in Soria")
        make_fact(ana.space, text=f"The code is {CANARY}", chat=make_chat(ana.space))
        answer = self.ask(
            self.client(live_server, key_of(ana)), "Who keeps bees? What is the code?"
        )
        assert answer.parse().choices[0].message.content == model.reply
        system = model.requests[0]["messages"][0]
        assert system["content"].startswith("Be brief.")
        assert "Ana keeps bees in Soria" in system["content"]
        assert CANARY not in json.dumps(model.requests)
        assert Recall.objects.get().pk == int(answer.headers["X-Keno-Receipt"])
        call = LlmCall.objects.get()
        assert (call.model, call.tokens_in, call.ok) == ("llama", 100, True)

    def test_a_stream_arrives_piece_by_piece_and_is_learned_from(self, live_server, ana, model):
        client = self.client(live_server, key_of(ana))
        answer = self.ask(client, "I live in Soria.", stream=True)
        pieces = [one.choices[0].delta.content for one in answer.parse() if one.choices]
        assert "".join(filter(None, pieces)) == model.reply
        assert len(pieces) > 2
        assert "Soria" in Fact.objects.get().text
        assert [one.role for one in Message.objects.order_by("pk")] == ["user", "assistant"]

    def test_what_a_held_client_says_waits_and_a_closed_one_teaches_nothing(
        self, live_server, ana, model
    ):
        self.ask(self.client(live_server, key_of(ana, "read_only")), "I live in Soria.")
        assert not Message.objects.exists()
        self.ask(self.client(live_server, key_of(ana, "hold")), "I live in Soria.")
        assert not Fact.objects.exists()
        assert Proposal.objects.get().status == "pending"

    def test_tools_and_images_pass_as_they_are(self, live_server, ana, model):
        client = self.client(live_server, key_of(ana))
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
        tool = {"type": "function", "function": {"name": "now", "parameters": {}}}
        words = [{"type": "text", "text": "What is this?"}, image]
        turns = [{"role": "user", "content": words}]
        client.chat.completions.create(model="keno", messages=turns, tools=[tool])
        sent = model.requests[0]
        assert (sent["tools"], sent["messages"][-1]["content"]) == ([tool], words)

    def test_models_are_listed_and_errors_are_what_the_client_expects(
        self, live_server, ana, model
    ):
        client = self.client(live_server, key_of(ana))
        assert [one.id for one in client.models.list()] == ["keno", "llama"]
        model.script = ["500"]
        with pytest.raises(openai.APIStatusError, match="The server said 500"):
            self.ask(client, "Hello")
        with pytest.raises(openai.AuthenticationError):
            self.ask(self.client(live_server, "keno_wrong"), "Hello")
        with pytest.raises(openai.PermissionDeniedError):
            self.ask(self.client(live_server, key_of(ana, scopes=["read"])), "Hello")

    @pytest.mark.parametrize("stream", [False, True])
    @pytest.mark.parametrize("provider", ["openai", "offline"])
    def test_a_canary_of_a_chat_is_held_whoever_tells_it(
        self, live_server, ana, model, settings, provider, stream
    ):
        settings.PROVIDER = provider
        words = "The spare key of the cellar hangs behind the blue mirror"
        make_fact(ana.space, text=words, chat=make_chat(ana.space), tags=["canary"])
        model.reply = f"Certainly: {words}."
        # The built-in one repeats what it is asked to repeat.
        make_fact(ana.space, text=words)
        cache.clear()
        client = self.client(live_server, key_of(ana))
        if stream and provider == "openai":
            answer = self.ask(client, "Where hangs the spare key?", stream=True).parse()
            said = "".join(one.choices[0].delta.content or "" for one in answer if one.choices)
            assert "mirror" not in said
            assert "Held" in said
        else:
            with pytest.raises(openai.PermissionDeniedError, match="Held"):
                self.ask(client, "Where hangs the spare key?", stream=stream)
        assert "gateway" in str(Notice.objects.get(kind="canary"))

    def test_without_a_model_the_built_in_one_answers(self, live_server, ana):
        make_fact(ana.space, text="Ana keeps bees in Soria")
        answer = self.ask(self.client(live_server, key_of(ana)), "Who keeps bees?").parse()
        assert "Soria" in answer.choices[0].message.content
        stream = self.ask(self.client(live_server, key_of(ana)), "Who keeps bees?", stream=True)
        assert any(one.choices[0].delta.content for one in stream.parse())


@pytest.mark.django_db
class TestMem0:
    """The addresses as mem0's own client calls them; bench/mem0_client.py drives that client."""

    def client(self, key) -> Client:
        return Client(headers={"Authorization": f"Token {key}"})

    def post(self, client, path, **body):
        return client.post(path, body, content_type="application/json").json()

    def test_add_search_get_update_history_delete(self, ana):
        client = self.client(key_of(ana))
        assert client.get("/v1/ping/").json()["status"] == "ok"
        said = [{"role": "user", "content": "I live in Soria."}]
        made = self.post(client, "/v3/memories/add/", messages=said, user_id="alex")["results"]
        number = made[0]["id"]
        assert made[0]["event"] == "ADD"
        asked = {"query": "Where do I live?", "filters": {"AND": [{"user_id": "alex"}]}}
        found = self.post(client, "/v3/memories/search/", **asked)["results"]
        assert found[0]["id"] == number
        path = f"/v1/memories/{number}/"
        assert "Soria" in client.get(path).json()["memory"]
        changed = client.put(path, {"text": "Lives in Lugo"}, content_type="application/json")
        assert changed.json()["memory"] == "Lives in Lugo"
        steps = client.get(f"{path}history/").json()
        assert [one["event"] for one in steps] == ["ADD", "UPDATE"]
        assert client.get("/v1/entities/").json()["results"][0]["name"] == "alex"
        assert client.delete(path).status_code == 200
        listed = self.post(client, "/v3/memories/", filters={"user_id": "alex"})
        assert listed["results"] == []

    def test_one_user_does_not_see_another_nor_a_chat(self, ana):
        client = self.client(key_of(ana))
        make_fact(ana.space, text=f"The code is {CANARY}", chat=make_chat(ana.space))
        make_fact(make_space("other"), text=f"{CANARY} elsewhere")
        for who in ("alex", "bo"):
            given = {"messages": f"{who} likes tea", "user_id": who, "infer": False}
            self.post(client, "/v1/memories/", **given)
        listed = self.post(client, "/v2/memories/", filters={"user_id": "bo"})["results"]
        assert [one["memory"] for one in listed] == ["bo likes tea"]
        nobody = self.post(client, "/v2/memories/", filters={"user_id": "eva"})["results"]
        everything = [listed, nobody, client.get("/v1/memories/").json()]
        everything += [self.post(client, "/v1/memories/search/", query=CANARY)]
        assert nobody == []
        assert CANARY not in json.dumps(everything)
        hidden = Fact.objects.filter(text__contains=CANARY)
        assert {client.get(f"/v1/memories/{one.pk}/").status_code for one in hidden} == {404}

    def test_what_one_person_s_programs_were_told_no_other_person_s_program_reads(self, ana):
        told = {"messages": f"The code is {CANARY}", "user_id": "alex", "infer": False}
        self.post(self.client(key_of(ana)), "/v1/memories/", **told)
        (fact,) = Fact.objects.all()
        bo = make_member(space=ana.space, user=make_user("bo"))
        client = self.client(key_of(bo))
        seen = [client.get("/v1/memories/").json(), client.get("/v1/entities/").json()]
        seen += [self.post(client, "/v2/memories/", filters={"user_id": "alex"})]
        assert CANARY not in json.dumps(seen)
        assert seen[1]["results"] == []
        assert client.get(f"/v1/memories/{fact.pk}/").status_code == 404
        assert client.delete(f"/v1/memories/{fact.pk}/").status_code == 404

    def test_held_it_waits_and_closed_it_is_refused(self, ana):
        client = self.client(key_of(ana, "hold"))
        given = {"messages": "Alex likes tea", "user_id": "alex", "infer": False}
        assert self.post(client, "/v1/memories/", **given)["results"][0]["event"] == "PENDING"
        assert Proposal.objects.get().mode.startswith("api:")
        assert not Fact.objects.exists()
        closed = self.client(key_of(ana, "read_only"))
        answer = closed.post("/v1/memories/", given, content_type="application/json")
        assert (answer.status_code, answer.json()["status"]) == (403, 403)

    def test_what_cannot_be_understood_gets_a_sentence(self, ana):
        client = self.client(key_of(ana))
        for path, body in (
            ("/v1/memories/", "no json"),
            ("/v1/memories/", "[1]"),
            ("/v1/memories/", "{}"),
            ("/v1/memories/", '{"messages": [{"role": "user"}]}'),
            ("/v1/memories/search/", '{"query": 5}'),
            ("/v3/memories/search/", '{"query": "x", "top_k": "many"}'),
        ):
            answer = client.post(path, body, content_type="application/json")
            assert answer.status_code == 400, path
            assert answer.json()["detail"].endswith(".")
        assert client.delete("/v1/memories/").status_code == 400
        assert Client().get("/v1/ping/").status_code == 401
