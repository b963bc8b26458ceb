from memory import options


def test_the_space_wins_over_the_environment_and_that_over_the_default(settings):
    settings.OPTION_DEFAULTS = {"history_messages": 35, "retention_days": 60}
    found = options.read({"history_messages": 50})
    assert (found.history_messages, found.retention_days, found.trash_days) == (50, 60, 7)


def test_odd_stored_values_never_break_anything(settings):
    settings.OPTION_DEFAULTS = {"history_messages": 35}
    odd = {"history_messages": 999, "chat_model": "two words", "use_retrieval": 1, "gone": True}
    found = options.read(odd)
    assert (found.history_messages, found.chat_model, found.use_retrieval) == (35, "", True)


def test_m10_an_owner_chooses_among_the_models_of_the_installation(settings):
    settings.KENO_MODELS = ["anthropic/claude-haiku-*"]
    assert "KENO_MODELS" in options.validation_error("chat_provider", "claude-cli")
    assert options.validation_error("chat_provider", "anthropic") == ""


def test_what_cannot_be_stored_is_said():
    assert options.validation_error("chat_model", "llama3.3:70b") == ""
    assert "name of a model" in options.validation_error("chat_model", "a b")
    assert "on or off" in options.validation_error("use_retrieval", "yes")
    assert "one of warn" in options.validation_error("budget_action", "explode")
