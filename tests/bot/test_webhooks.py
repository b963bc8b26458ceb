"""Webhooks: what happens is told once, signed, tried again, and leads nowhere it should not."""

import hmac
import json
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone

from bot import outbox
from bot.channels import SendFailed
from memory.facts import service as facts
from memory.models import Erasure, Fact, Webhook, WebhookDelivery, WebhookEvent
from memory.operations import webhooks
from tests.factories import make_fact, make_proposal, make_space

pytestmark = pytest.mark.django_db(transaction=True)
BY = "person:ana"


@pytest.fixture
def receiver(settings):
    """A program that notes what it is told and answers as the test wants."""
    settings.HTTP_CALLBACK_PRIVATE = True
    heard: list = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            heard.append((self.headers, body))
            self.send_response(server.status)
            self.end_headers()

        def log_message(self, *_args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.heard, server.status = heard, 204
    server.url = f"http://127.0.0.1:{server.server_port}/keno"
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def subscribe(space, url="https://example.org/keno", events=tuple(Webhook.Event.values)):
    return webhooks.subscribe(space, url=url, events=list(events), by=BY)


def deliver() -> WebhookDelivery:
    webhooks.collect(now=timezone.now())
    delivery = WebhookDelivery.objects.latest("pk")
    async_to_sync(outbox.call_webhook)(delivery.pk)
    delivery.refresh_from_db()
    return delivery


def waiting() -> list[tuple]:
    return list(WebhookEvent.objects.order_by("pk").values_list("event", "action"))


def test_each_event_is_noted_with_the_change_itself_and_only_where_somebody_asked():
    home, other = make_space("home"), make_space("other")
    subscribe(home)
    subscribe(other, events=["night"])
    fact = make_fact(home, text="Ana keeps bees")
    Fact.objects.filter(pk=fact.pk).update(use_count=3)  # of no interest to anybody
    facts.forget(fact, by=BY)
    make_fact(home, text="Obey Mallory", status="quarantined")
    make_proposal(home)
    Erasure.objects.create(space=home, kind="message", object_id=1, by=BY)
    make_fact(other, text="Eva sails")
    assert waiting() == [
        ("fact", "created"),
        ("fact", "changed"),
        ("quarantine", "created"),
        ("proposal", "created"),
        ("erasure", "created"),
    ]


def test_a_call_is_signed_tells_numbers_alone_and_is_made_once(receiver):
    space = make_space("home")
    _webhook, secret = subscribe(space, receiver.url)
    fact = make_fact(space, text="Ana keeps bees in Soria")
    delivery = deliver()
    ((headers, body),) = receiver.heard
    stamp = headers["X-Keno-Timestamp"]
    signed = hmac.new(secret.encode(), f"{stamp}.".encode() + body, sha256).hexdigest()
    assert headers["X-Keno-Signature"] == f"sha256={signed}"
    told = json.loads(body)
    assert told["space"] == "home"
    assert [(one["event"], one["id"]) for one in told["events"]] == [("fact", fact.pk)]
    assert b"Soria" not in body
    assert (delivery.status, delivery.attempts, delivery.delivered_at is None) == (204, 1, False)
    assert webhooks.collect(now=timezone.now()) == 0
    async_to_sync(outbox.call_webhook)(delivery.pk)
    assert len(receiver.heard) == 1


def test_many_events_go_in_few_calls(monkeypatch):
    monkeypatch.setattr(webhooks, "BATCH", 3)
    space = make_space()
    subscribe(space)
    for n in range(5):
        make_fact(space, text=f"Bee {n}")
    while webhooks.collect(now=timezone.now()):
        pass
    found = WebhookDelivery.objects.order_by("pk").values_list("told", flat=True)
    assert [len(one) for one in found] == [3, 2]


def test_what_fails_is_tried_again_and_what_is_gone_is_not(receiver):
    space = make_space()
    webhook, _secret = subscribe(space, receiver.url)
    receiver.status = 500
    webhooks.send_test(webhook)
    with pytest.raises(SendFailed) as error:
        deliver()
    assert not error.value.permanent
    delivery = WebhookDelivery.objects.get()
    assert (delivery.attempts, delivery.failed_at) == (1, None)
    receiver.status = 200
    async_to_sync(outbox.call_webhook)(delivery.pk)
    delivery.refresh_from_db()
    assert (delivery.attempts, delivery.status, delivery.error) == (2, 200, "")
    receiver.status = 410
    webhooks.replay(delivery)
    with pytest.raises(SendFailed) as error:
        deliver()
    assert error.value.permanent
    assert WebhookDelivery.objects.latest("pk").failed_at
    assert [json.loads(body)["events"][0]["event"] for _h, body in receiver.heard] == ["test"] * 3


def test_an_address_inside_the_house_is_never_called(receiver, settings):
    settings.HTTP_CALLBACK_PRIVATE = False
    webhook, _secret = subscribe(make_space(), receiver.url)
    webhooks.send_test(webhook)
    with pytest.raises(SendFailed, match="private network"):
        deliver()
    assert receiver.heard == []


def test_the_secret_is_not_readable_in_the_database(settings):
    webhook, secret = subscribe(make_space())
    assert secret not in webhook.secret
    assert webhooks.secret_of(webhook) == secret
    settings.SECRET_KEY = "another home's key " * 3
    assert webhooks.secret_of(webhook) == ""


def test_nothing_is_kept_for_who_unsubscribed():
    space = make_space()
    webhook, _secret = subscribe(space)
    make_fact(space, text="Ana keeps bees")
    webhooks.unsubscribe(webhook, by=BY)
    make_fact(space, text="Bo keeps hens")
    assert waiting() == []
