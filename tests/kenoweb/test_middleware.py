import re
from pathlib import Path

import pytest
from django.contrib import messages
from django.contrib.messages.storage.fallback import FallbackStorage
from django.db import OperationalError
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import reverse
from django_htmx.middleware import HtmxDetails

from kenoweb.operations import health
from kenoweb.ui import views as errors
from kenoweb.ui.middleware import ToastsInFragments
from kenoweb.ui.responses import fragment_or_redirect, toast
from memory import logs
from tests.factories import make_client, make_member

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))


def asked(method="post", *, htmx=False, **data):
    request = getattr(RequestFactory(), method)("/there/", data)
    request.META.update({"HTTP_HX_REQUEST": "true"} if htmx else {})
    request.htmx = HtmxDetails(request)
    request.session = {}
    request._messages = FallbackStorage(request)
    return request


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/account/", "/nowhere/", "/styleguide/"])
def test_every_page_is_strict(path):
    page = make_client(make_member().user).get(path)
    assert "default-src 'none'" in page["Content-Security-Policy"]
    assert "unsafe" not in page["Content-Security-Policy"]
    assert "no-store" in page["Cache-Control"]
    assert "HX-Request" in page["Vary"]
    assert page["X-Content-Type-Options"] == "nosniff"
    assert page["Referrer-Policy"] == "same-origin"
    assert page["Cross-Origin-Opener-Policy"] == "same-origin"
    assert page["X-Frame-Options"] == "DENY"
    assert "camera=()" in page["Permissions-Policy"]


@pytest.mark.django_db
def test_static_files_may_be_kept():
    file = make_client().get("/static/css/tokens.css")
    file.close()
    assert file.status_code == 200
    assert "no-store" not in file["Cache-Control"]
    assert "Content-Security-Policy" in file


FORBIDDEN = re.compile(
    r"\sstyle\s*=|\son\w+\s*=|hx-on|javascript:|<style|js:|\|safe|mark_safe|autoescape off"
)


def test_no_template_needs_what_the_policy_forbids():
    assert len(TEMPLATES) > 100
    for file in TEMPLATES:
        text = file.read_text()
        assert not FORBIDDEN.search(text), file
        assert all(" src=" in script for script in re.findall(r"<script[^>]*>", text)), file
    assert len(text.splitlines()) <= 120


@pytest.mark.parametrize("status", [200, 409, 422])
def test_a_fragment_brings_its_toasts_in_a_template(status):
    request = asked(htmx=True)
    toast(request, "Forgot <it>.", undo="/undo/1/")
    got = ToastsInFragments(lambda _: HttpResponse("<tr></tr>", status=status))(request)
    html = got.content.decode()
    assert html.startswith("<tr></tr><template>")
    assert 'hx-swap-oob="innerHTML"' in html
    assert "Forgot &lt;it&gt;." in html
    assert 'action="/undo/1/"' in html
    assert messages.get_messages(request).used


@pytest.mark.parametrize("request_", [asked(), asked("get", htmx=True)])
def test_whole_pages_draw_their_own_toasts(request_):
    toast(request_, "Done.")
    got = ToastsInFragments(lambda _: HttpResponse("page"))(request_)
    assert got.content == b"page"


def test_an_error_keeps_its_message_for_the_next_page():
    request = asked(htmx=True)
    toast(request, "Done.")
    assert (
        b"Done" not in ToastsInFragments(lambda _: HttpResponse("x", status=500))(request).content
    )


def test_htmx_gets_the_fragment_and_the_event():
    got = fragment_or_redirect(asked(htmx=True), "_toasts.html", {"messages": []}, back="/back/")
    assert (got.status_code, got["HX-Trigger"]) == (200, "memory-changed")


def test_a_refused_change_tells_nobody_that_memory_changed():
    got = fragment_or_redirect(
        asked(htmx=True), "_toasts.html", {"messages": []}, back="/", status=409
    )
    assert (got.status_code, "HX-Trigger" in got) == (409, False)


@pytest.mark.parametrize(
    ("wished", "there"),
    [("/facts/?q=a", "/facts/?q=a"), ("", "/back/"), ("https://evil.example/", "/back/")],
)
def test_a_browser_without_htmx_goes_back_where_it_was(wished, there):
    assert fragment_or_redirect(asked(next=wished), "x", {}, back="/back/")["Location"] == there


def test_500_and_503_need_no_database():
    for error, status in ((ValueError(), 500), (OperationalError(), 503)):
        try:
            raise error
        except Exception:
            page = errors.broken(asked("get"))
        assert page.status_code == status
        assert f">{status}<".encode() in page.content
        assert b"Traceback" not in page.content


@pytest.mark.django_db
def test_t25_neither_the_page_of_an_error_nor_its_log_tells_a_secret(monkeypatch, settings, caplog):
    secret = "sk-" + "ant-api03-" + "aB3x" * 12
    settings.ANTHROPIC_API_KEY = secret

    def fail():
        raise ValueError(f"the provider refused {secret}")

    monkeypatch.setitem(health.CHECKS, "queue", fail)
    client = make_client(raise_request_exception=False)
    page = client.get("/readyz", {"key": secret}, headers={"authorization": f"Bearer {secret}"})
    assert page.status_code == 500
    lines = [logs.JsonFormatter().format(record) for record in caplog.records]
    assert any("Internal Server Error" in line for line in lines)
    for told in (page.content.decode(), *lines):
        assert secret not in told
        assert settings.SECRET_KEY not in told


@pytest.mark.django_db
def test_404_offers_a_way_on_and_says_nothing_of_the_address():
    page = make_client(make_member().user).get("/s/nobody/<b>here</b>/")
    assert page.status_code == 404
    assert b"here</b>" not in page.content
    assert b"<h1>Nothing is remembered here</h1>" in page.content


@pytest.mark.django_db
def test_an_old_form_gets_a_sentence(client):
    strict = make_client(enforce_csrf_checks=True)
    page = strict.post(reverse("theme"), {"theme": "dark"})
    assert page.status_code == 403
    assert b"This form was too old" in page.content


def test_no_form_comes_back_to_the_address_of_an_act():
    """In the answer to a POST, request.get_full_path is where a GET is refused: use on_screen."""
    wrong = 'value="{{ request.get_full_path }}"'
    assert [str(file) for file in TEMPLATES if wrong in file.read_text()] == []


def test_every_middleware_runs_once(settings):
    assert sorted(set(settings.MIDDLEWARE)) == sorted(settings.MIDDLEWARE)
