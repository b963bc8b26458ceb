import pytest

from memory.models import Space
from tests.llm import servers


@pytest.fixture
def space(db):
    return Space.objects.create(name="Home", slug="home")


@pytest.fixture
def server():
    with servers.running() as server:
        yield server


@pytest.fixture(params=["anthropic", "openai"])
def provider(request, server, settings):
    """One provider after the other, pointed at the local server."""
    settings.PROVIDER = request.param
    settings.MODEL = "test-model"
    settings.LLM_TIMEOUT = 5
    settings.ANTHROPIC_API_KEY = settings.OPENAI_API_KEY = "not-a-key"
    settings.ANTHROPIC_BASE_URL = server.url
    settings.OPENAI_BASE_URL = f"{server.url}/v1"
    return request.param
