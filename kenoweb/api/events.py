"""What happens in a space, as it happens: server-sent events for programs and for open pages."""

import json
import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import psycopg
from django.conf import settings
from django.db import connection as database
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from procrastinate.contrib.django.utils import connector_params

from kenoweb.api.calls import Refused
from kenoweb.api.operations import admit_within_limit
from kenoweb.api.rest import explain, key_of
from kenoweb.auth.access import in_space, with_token
from kenoweb.ui.page_chrome import counts_for
from memory.models import Space

CHANNEL = "keno"
# A stream keeps a thread of the pages: few at a time, and each begins anew after a while.
MAX_STREAMS = max(1, settings.KENO_WEB_THREADS // 2)
STREAM_SECONDS = 300
KEEP_ALIVE_SECONDS = 15
BATCH_SECONDS = 0.2
# When a browser connects again, in milliseconds; one that had to make room waits longer.
RETRY = 3000
RETRY_AFTER_MAKING_ROOM = 60_000


class Listener(NamedTuple):
    space_pk: int
    is_page: bool


class Broadcaster:
    """The one connection of this process that listens; every stream has a queue of its own."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.streams: dict[queue.Queue, Listener] = {}
        self.thread: threading.Thread | None = None
        self.ready = threading.Event()

    def open(self, space: Space, *, is_page: bool) -> queue.Queue:
        """Add a stream; the page that has listened longest makes room, a program never does."""
        with self.lock:
            if len(self.streams) >= MAX_STREAMS:
                pages = (stream for stream, listener in self.streams.items() if listener.is_page)
                if (oldest := next(pages, None)) is None:
                    sentence = _("Too many programs listen already. Try again later.")
                    raise Refused(sentence, 503, after=30)
                del self.streams[oldest]
                oldest.put("")
            stream: queue.Queue = queue.Queue()
            self.streams[stream] = Listener(space.pk, is_page)
            return stream

    def stop(self) -> None:
        """End every stream and the connection, and wait for it."""
        self._pass_on("", "")
        with self.lock:
            self.streams.clear()
            thread = self.thread
        if thread:
            thread.join()

    def listen(self) -> None:
        """Start the connection; when this returns, no event is missed."""
        with self.lock:
            if self.thread is None:
                self.thread = threading.Thread(target=self._listen, daemon=True)
                self.thread.start()
        self.ready.wait(KEEP_ALIVE_SECONDS)

    def close(self, stream: queue.Queue) -> None:
        with self.lock:
            self.streams.pop(stream, None)

    def _listen(self) -> None:
        try:
            with _connect() as connection:
                connection.execute(f"LISTEN {CHANNEL}")
                self.ready.set()
                while self._has_streams():
                    for note in connection.notifies(timeout=1):
                        self._pass_on(*note.payload.split())
        except psycopg.Error:
            # The streams end; browsers and programs connect again, and start a new thread.
            self._pass_on("", "")
            with self.lock:
                self.thread = None
                self.ready.clear()

    def _has_streams(self) -> bool:
        with self.lock:
            if not self.streams:
                self.thread = None
                self.ready.clear()
            return bool(self.streams)

    def _pass_on(self, space: str, event: str) -> None:
        with self.lock:
            for stream, listener in self.streams.items():
                if not space or int(space) == listener.space_pk:
                    stream.put(event)


def _connect() -> psycopg.Connection:
    """Open a session that lasts, also where the pages themselves speak to a pooler."""
    if database.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS"):
        return psycopg.connect(settings.DATABASE_URL, autocommit=True)
    return psycopg.connect(**connector_params(), autocommit=True)


BROADCASTER = Broadcaster()


def _lines(stream: queue.Queue, describe: Callable[[list[str]], dict]) -> Iterator[str]:
    BROADCASTER.listen()
    yield f"retry: {RETRY}\ndata: {_as_json(describe, [])}\n\n"
    until = time.monotonic() + STREAM_SECONDS
    while time.monotonic() < until:
        try:
            events = [stream.get(timeout=KEEP_ALIVE_SECONDS)]
        except queue.Empty:
            yield ": still here\n\n"
            continue
        time.sleep(BATCH_SECONDS)
        while not stream.empty():
            events.append(stream.get())
        if "" in events:
            yield f"retry: {RETRY_AFTER_MAKING_ROOM}\n\n"
            return
        yield f"data: {_as_json(describe, sorted(set(events)))}\n\n"


def _as_json(describe: Callable[[list[str]], dict], events: list[str]) -> str:
    """Describe the events, and keep no connection for the minutes in which nothing happens."""
    text = json.dumps(describe(events))
    if not database.in_atomic_block:
        database.close()
    return text


def _respond(
    space: Space, describe: Callable[[list[str]], dict], *, is_page: bool = False
) -> StreamingHttpResponse:
    stream = BROADCASTER.open(space, is_page=is_page)
    response = StreamingHttpResponse(_lines(stream, describe), content_type="text/event-stream")
    response["X-Accel-Buffering"] = "no"
    # Closed with the response, even if nobody reads a line of it.
    response._resource_closers.append(lambda: BROADCASTER.close(stream))
    return response


@csrf_exempt
@with_token
def for_programs(request: HttpRequest) -> HttpResponse:
    """Stream which kinds of thing changed; the things themselves are read by operations."""
    try:
        token = admit_within_limit(key_of(request), "read")
        if request.method != "GET":
            raise Refused(_("Send a %(method)s.") % {"method": "GET"}, 405)
        return _respond(token.space, lambda events: {"events": events, "space": token.space.slug})
    except Exception as error:
        return explain(error)


@in_space(role="viewer")
def for_pages(request: HttpRequest, space: Space) -> HttpResponse:
    try:
        return _respond(
            space, lambda events: {"events": events, "counts": counts_for(space)}, is_page=True
        )
    except Refused:  # the page works without it and does not ask again
        return HttpResponse(status=204)
