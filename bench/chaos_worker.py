"""A runbot for bench.chaos: a scripted model, a channel into the sink, and an order to die."""

import asyncio
import http.client
import json
import os
import random
import re
import signal
import time
from urllib.parse import urlsplit

import django

NUMBER = re.compile(r"parcel (\d+)")


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
    django.setup()
    from django.core.management import call_command

    from bot import channels

    _script_the_model()
    channels.use(_sink_channel(os.environ["CHAOS_SINK"]))
    _install_the_order(os.environ.get("CHAOS_DIE", ""))
    call_command("runbot", jobs=4)


def _script_the_model() -> None:
    from memory.llm import providers
    from memory.llm.request import Answer

    class Scripted:
        @staticmethod
        def ask(request):
            time.sleep(random.uniform(0, 0.05))
            # Not the prompt: that also holds the parcels that were recalled.
            numbers = NUMBER.findall(request.briefing.text)
            tags = "".join(f"<memory>Parcel {n} is kept in rack {n}</memory>" for n in numbers)
            return Answer(f"Got {' '.join(numbers)}. {tags}", model="built-in")

    providers.load = lambda name: Scripted


def _sink_channel(url: str):
    from bot.channels import Channel

    host = urlsplit(url).netloc

    class Sink(Channel):
        name = "chaos"

        async def send(self, outgoing):
            body = {"chat": outgoing.chat.pk, "key": outgoing.key, "text": outgoing.text}
            await asyncio.to_thread(self._post, json.dumps(body))
            return ""

        @staticmethod
        def _post(body):
            connection = http.client.HTTPConnection(host, timeout=10)
            connection.request("POST", "/", body)
            connection.getresponse().read()
            connection.close()

    return Sink()


def _install_the_order(order: str) -> None:
    """ "thought:7" means: die by SIGKILL the seventh time the model has answered."""
    if not order:
        return
    from bot import channels, outbox, replies, turn
    from memory import tasks

    point, _, passes = order.partition(":")
    left = [int(passes)]

    def pass_by():
        left[0] -= 1
        if left[0] <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    places = {
        "claimed": (turn, "_groups"),
        "thought": (replies, "think"),
        "committing": (turn, "_send_reply"),
        "committed": (turn, "_reply"),
        "delivered": (outbox, "_delivered"),
        "ingested": (tasks.ingest, "func"),
    }
    if point == "sent":
        _after_coroutine(channels.get("chaos"), "send", pass_by)
    else:
        _after(*places[point], pass_by)


def _after(owner, name, pass_by) -> None:
    original = getattr(owner, name)

    def wrapped(*args, **kwargs):
        result = original(*args, **kwargs)
        pass_by()
        return result

    setattr(owner, name, wrapped)


def _after_coroutine(owner, name, pass_by) -> None:
    original = getattr(owner, name)

    async def wrapped(*args, **kwargs):
        result = await original(*args, **kwargs)
        pass_by()
        return result

    setattr(owner, name, wrapped)


if __name__ == "__main__":
    main()
