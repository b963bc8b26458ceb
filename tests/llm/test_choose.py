import pytest
from django.utils import timezone

from memory.llm import pricing
from memory.llm.choose import choose
from memory.llm.complete import asker, available, complete
from memory.llm.request import BudgetSpent, NotAvailable
from memory.models import LlmCall
from tests.factories import make_space


def test_without_a_key_keno_is_offline(space):
    choice = choose("chat", space=space)
    assert (choice.provider, choice.model) == ("offline", "built-in")
    assert not available("extract", space=space)


@pytest.mark.parametrize(
    ("given", "provider"),
    [
        ({"ANTHROPIC_API_KEY": "k"}, "anthropic"),
        ({"OPENAI_API_KEY": "k"}, "openai"),
        ({"OPENAI_BASE_URL": "http://localhost:11434/v1"}, "openai"),
        ({"PROVIDER": "claude-cli", "ANTHROPIC_API_KEY": "k"}, "claude-cli"),
    ],
)
def test_the_environment_chooses(space, settings, given, provider):
    for name, value in given.items():
        setattr(settings, name, value)
    assert choose("chat", space=space).provider == provider


def test_the_space_has_the_last_word(space, settings):
    settings.PROVIDER = "anthropic"
    space.settings = {"chat_provider": "openai", "chat_model": "llama3.3:70b"}
    choice = choose("chat", space=space)
    assert (choice.provider, choice.model) == ("openai", "llama3.3:70b")


def test_m10_what_is_not_on_the_list_of_the_installation_is_never_asked(space, settings):
    settings.PROVIDER, settings.MODEL = "anthropic", "claude-haiku-5-5"
    settings.KENO_MODELS = ["anthropic/claude-haiku-*"]
    for wanted in ({"chat_provider": "claude-cli"}, {"chat_model": "claude-opus-5-5"}):
        space.settings = wanted
        choice = choose("chat", space=space)
        assert (choice.provider, choice.model) == ("anthropic", "claude-haiku-5-5")
    settings.KENO_MODELS = ["openai"]
    assert choose("chat", space=space).provider == "offline"


def test_m10_all_spaces_together_spend_no_more_than_the_cap(space, settings):
    settings.PROVIDER, settings.KENO_BUDGET_MONTH = "anthropic", 2
    space.settings = {"budget_day": 100000, "budget_month": 100000, "budget_action": "warn"}
    other, now = make_space(), timezone.now()
    LlmCall.objects.create(space=other, purpose="chat", provider="anthropic", cost="1.99", at=now)
    assert pricing.action(space, now=now) == ""
    LlmCall.objects.create(space=space, purpose="chat", provider="anthropic", cost="0.01", at=now)
    with pytest.raises(BudgetSpent):
        complete("chat", space=space, system="", messages=[], now=now)


def test_small_jobs_go_to_the_small_model(space, settings):
    settings.PROVIDER = "anthropic"
    models = {p: choose(p, space=space).model for p in ("chat", "sleep", "expand", "extract")}
    assert "haiku" in models["expand"]
    assert "haiku" in models["extract"]
    assert "sonnet" in models["chat"]
    assert "sonnet" in models["sleep"]


def test_the_night_falls_back_as_the_seed_says(space, settings):
    settings.PROVIDER = "anthropic"
    settings.CONSCIOUSNESS_PROVIDER, settings.CONSCIOUSNESS_MODEL = "openai", "small"
    assert choose("sleep", space=space).model == "small"
    settings.CONSOLIDATION_PROVIDER, settings.CONSOLIDATION_MODEL = "anthropic", "opus"
    assert choose("sleep", space=space).model == "claude-opus-5-5"


def test_the_second_model_can_be_switched_off(space, settings):
    settings.PROVIDER, settings.CONSCIOUSNESS_ENABLED = "anthropic", False
    assert available("chat", space=space)
    assert not available("expand", space=space)


def test_asking_for_what_nobody_can_do_is_said_clearly(space):
    with pytest.raises(NotAvailable, match="No language model is set up for expand"):
        complete("expand", space=space, system="", messages=[])
    assert not LlmCall.objects.exists()


def test_an_asker_asks_for_its_purpose(space, server, provider):
    assert asker("extract", space=space, night_id=7)("What?") == "Hello from the wire."
    call = LlmCall.objects.get()
    assert (call.purpose, call.night_id) == ("extract", 7)
    assert server.requests[0]["messages"][-1]["content"] == "What?"


def test_without_a_model_there_is_no_asker(space):
    assert asker("extract", space=space) is None
