import os
import select
import stat
import sys

import pytest

from memory.llm.complete import complete
from memory.llm.providers import claude_cli
from memory.llm.request import ProviderError, Request

TALK = [
    {"role": "user", "content": "I am Ana"},
    {"role": "assistant", "content": "Hello Ana"},
    {"role": "user", "content": "Who am I?"},
]


@pytest.fixture
def command(tmp_path, settings, monkeypatch):
    """Installs a stand-in for the claude command whose body is the given Python."""

    def install(body):
        path = tmp_path / "claude"
        path.write_text(f"#!{sys.executable}\nimport sys, json, os, time\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        settings.CLAUDE_COMMAND = str(path)
        settings.PROVIDER = "claude-cli"

    return install


def ask(space, **more):
    return complete("chat", space=space, system="You are Keno.", messages=TALK, **more)


def test_history_goes_in_as_a_preamble(space, command):
    command(
        "said = sys.stdin.read()\n"
        "print(json.dumps({'result': said, 'total_cost_usd': 0.01, 'usage': {'input_tokens': 7}}))"
    )
    completion = ask(space)
    assert "You are Keno." in completion.text
    assert "Person: I am Ana" in completion.text
    assert "You: Hello Ana" in completion.text
    assert completion.text.endswith("Who am I?")
    assert (completion.tokens_in, float(completion.cost)) == (7, 0.01)


def test_no_flag_skips_permissions_and_no_text_is_an_argument():
    line = claude_cli.command(Request(model="sonnet", system=["secret"], messages=TALK))
    assert not [part for part in line if "permission" in part or "skip" in part]
    assert not [part for part in line if "secret" in part or "Ana" in part]


def test_it_sees_neither_our_folder_nor_our_secrets(space, command, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql://hidden")
    command("print(json.dumps({'result': os.getcwd() + ' ' + str(dict(os.environ))}))")
    text = ask(space).text
    assert "hidden" not in text
    assert os.getcwd() not in text.split(" ")[0]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("sys.exit(3)", "code 3"),
        ("print('not json')", "cannot read"),
        ("print(json.dumps({'is_error': True, 'result': 'x'}))", "reported an error"),
        ("sys.stdout.write('x' * 10_000_000)", "more than an answer may hold"),
    ],
    ids=["code", "malformed", "error", "huge"],
)
def test_a_failing_command_is_an_error_with_a_sentence(space, command, body, says):
    command(body)
    with pytest.raises(ProviderError, match=says):
        ask(space)


def test_a_missing_command_is_permanent(space, settings):
    settings.PROVIDER, settings.CLAUDE_COMMAND = "claude-cli", "/nowhere/claude"
    with pytest.raises(ProviderError, match="cannot be started") as error:
        ask(space)
    assert error.value.permanent


def test_a_hanging_command_is_ended_with_its_children(space, command, settings, tmp_path):
    settings.LLM_TIMEOUT = 0.5
    command(
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        f"open({str(tmp_path / 'child')!r}, 'w').write(str(child.pid))\n"
        "time.sleep(60)"
    )
    with pytest.raises(ProviderError, match="in time"):
        ask(space)
    child = tmp_path / "child"
    assert not child.exists() or _has_ended(int(child.read_text()))


def _has_ended(pid):
    """Say whether a killed process ends; it may need a moment until it is scheduled again."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 20)[0])
    finally:
        os.close(handle)
