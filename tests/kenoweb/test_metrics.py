import pytest

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("given", ["", "Bearer ", "Bearer None"])
def test_without_a_token_in_the_environment_nobody_gets_in(client, given):
    assert client.get("/metrics", headers={"Authorization": given}).status_code == 401


@pytest.mark.parametrize("given", ["", "Bearer ", "Bearer wrong", "wrong"])
def test_a_wrong_token_is_refused(client, settings, given):
    settings.METRICS_TOKEN = "right"
    answer = client.get("/metrics", headers={"Authorization": given})
    assert answer.status_code == 401
    assert b"keno_" not in answer.content


def test_prometheus_reads_it_with_the_token(client, settings):
    settings.METRICS_TOKEN = "right"
    answer = client.get("/metrics", headers={"Authorization": "Bearer right"})
    assert answer.status_code == 200
    assert b"keno_build_info" in answer.content
