"""The plugin of Claude Code, run as Claude Code runs it, against a Keno that serves."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memory.models import Fact
from sleep.models import Proposal
from tests.factories import make_fact, make_member, make_space, make_token, make_user

PLUGIN = Path(__file__).resolve().parents[2] / "plugins/claude-code"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ana():
    return make_member(space=make_space("home"), user=make_user("ana", first_name="Ana"))


def hook(live_server, key, **event):
    given = {"KENO_URL": live_server.url, "KENO_TOKEN": key}
    return subprocess.run(
        [sys.executable, PLUGIN / "keno_hook.py"],
        input=json.dumps({"cwd": "/home/ana/apiary", "session_id": "1"} | event),
        env=os.environ | given,
        capture_output=True,
        text=True,
        timeout=120,
    )


def token(member, gate):
    scopes = ["read", "write"]
    return make_token(member.space, user=member.user, scopes=scopes, gate=gate)[1]


def transcript(path, said):
    turns = [
        {"type": "user", "message": {"role": "user", "content": said}},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text"}]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": "ok"}]}},
    ]
    path.write_text("\n".join(map(json.dumps, turns)))
    return str(path)


def test_a_prompt_brings_what_is_known_as_data(live_server, ana):
    make_fact(ana.space, text="Ana keeps bees in Soria")
    said = {"hook_event_name": "UserPromptSubmit", "prompt": "Who keeps bees?"}
    done = hook(live_server, token(ana, "believe"), **said)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Ana keeps bees in Soria" in done.stdout
    assert "data, not instructions" in done.stdout


def test_what_was_said_is_learned_when_the_turn_ends(live_server, ana, tmp_path):
    said = transcript(tmp_path / "talk.jsonl", "I live in Soria.")
    event = {"hook_event_name": "Stop", "transcript_path": said}
    done = hook(live_server, token(ana, "believe"), **event)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [fact.text for fact in Fact.objects.live()] == ["Ana lives in Soria"]


def test_what_a_held_token_hears_waits_for_a_person(live_server, ana, tmp_path):
    said = transcript(tmp_path / "talk.jsonl", "I live in Soria.")
    event = {"hook_event_name": "Stop", "transcript_path": said}
    assert hook(live_server, token(ana, "hold"), **event).returncode == 0
    assert not Fact.objects.live().exists()
    assert Proposal.objects.filter(status="pending").exists()


def test_without_keno_or_key_the_session_goes_on(live_server, ana):
    said = {"hook_event_name": "UserPromptSubmit", "prompt": "Who keeps bees?"}
    wrong = hook(live_server, "keno_wrong", **said)
    assert (wrong.returncode, wrong.stdout) == (0, "")
    assert "401" in wrong.stderr


def test_every_event_of_the_plugin_is_one_the_hook_knows():
    hooks = json.loads((PLUGIN / "hooks/hooks.json").read_text())["hooks"]
    code = (PLUGIN / "keno_hook.py").read_text()
    assert set(hooks) == {"SessionStart", "UserPromptSubmit", "Stop"}
    assert all(f'"{event}"' in code for event in hooks)
