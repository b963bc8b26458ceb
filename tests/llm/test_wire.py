"""R-06: whatever a provider's server does, Keno gets an answer or a clear error."""

import itertools

import pytest

from memory.llm.complete import complete
from memory.llm.errors import ProviderError
from memory.models import Breaker, LlmCall


def ask(space, **more):
    waits = []
    given = {"system": "You are Keno.", "messages": [{"role": "user", "content": "Hi"}]} | more
    return complete("chat", space=space, pause=waits.append, **given), waits


def test_an_answer_is_counted(space, server, provider):
    completion, waits = ask(space)
    assert completion.text == "Hello from the wire."
    assert (completion.tokens_in, completion.tokens_out, completion.tokens_cached) == (100, 5, 90)
    assert waits == []
    call = LlmCall.objects.get()
    assert (call.ok, call.provider, call.model) == (True, provider, "test-model")


def test_the_text_streams_as_a_whole_so_far(space, server, provider):
    seen = []
    completion, _ = ask(space, stream=seen.append)
    assert completion.text == "Hello from the wire."
    assert seen[-1] == completion.text
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(seen))
    assert (completion.tokens_in, completion.tokens_cached) == (100, 90)


@pytest.mark.parametrize("fault", ["429", "500", "502", "503", "504", "reset", "malformed"])
def test_a_passing_fault_is_tried_again(space, server, provider, fault):
    server.script = [fault, fault]
    completion, waits = ask(space)
    assert completion.text == "Hello from the wire."
    assert len(waits) == 2
    assert LlmCall.objects.get().attempts == 3
    assert Breaker.objects.filter(failures__gt=0).count() == 0


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("fault", ["truncated", "empty", "wrong-shape", "malformed"])
def test_half_an_answer_is_no_answer(space, server, provider, fault, streaming):
    server.script = [fault] * 3
    with pytest.raises(ProviderError) as error:
        ask(space, stream=(lambda text: None) if streaming else None)
    assert not error.value.permanent
    call = LlmCall.objects.get()
    assert (call.ok, call.attempts) == (False, 3)


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "stream"])
def test_ten_megabytes_are_refused(space, server, provider, streaming):
    server.script = ["huge"]
    with pytest.raises(ProviderError, match="more than an answer may hold"):
        ask(space, stream=(lambda text: None) if streaming else None)


def test_a_hanging_server_is_left_at_the_deadline(space, server, provider, settings):
    settings.LLM_TIMEOUT = 0.2
    server.script = ["hang"]
    with pytest.raises(ProviderError, match="in time") as error:
        ask(space)
    assert not error.value.permanent
    assert len(server.requests) == 1


def test_the_server_may_ask_for_patience(space, server, provider):
    server.script = ["429:7"]
    _, waits = ask(space)
    assert waits == [7]


def test_more_patience_than_we_have_is_left_to_the_job(space, server, provider):
    server.script = ["429:600"]
    with pytest.raises(ProviderError) as error:
        ask(space)
    assert error.value.retry_after == 600


@pytest.mark.parametrize(("status", "says"), [("401", "refused the key"), ("404", "this model")])
def test_a_wrong_setting_is_not_tried_again(space, server, provider, status, says):
    server.script = [status]
    with pytest.raises(ProviderError, match=says) as error:
        ask(space)
    assert error.value.permanent
    assert len(server.requests) == 1


def test_a_null_character_never_reaches_the_database(space, server, provider):
    server.script = ["nul"]
    assert ask(space)[0].text == "ab"


def test_the_key_and_the_question_reach_the_server_and_no_log(space, server, provider, caplog):
    server.script = ["500"] * 3
    with pytest.raises(ProviderError):
        ask(space)
    assert "not-a-key" in str(server.headers_seen[0])
    assert "not-a-key" not in caplog.text


def test_a_redirect_is_not_followed(space, server, provider):
    server.script = ["302"]
    with pytest.raises(ProviderError):
        ask(space)
    assert len(server.requests) == 1


def test_the_stable_part_is_marked_for_the_cache(space, server, settings, provider):
    ask(space, system=["Stable.", "Fresh."])
    sent = server.requests[0]
    if provider == "anthropic":
        assert sent["system"][0]["cache_control"] == {"type": "ephemeral"}
        assert "cache_control" not in sent["system"][1]
    else:
        assert sent["messages"][0] == {"role": "system", "content": "Stable.\n\nFresh."}
