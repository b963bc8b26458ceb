"""Say what is well and what is not, and what to do about it."""

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from django.utils import timezone

from kenoweb.operations.health import read_replica, ready
from memory.llm.choose import choose
from memory.llm.complete import complete
from memory.llm.request import Briefing, ProviderError
from memory.models import Space
from memory.operations import health
from memory.vectors import embed

QUESTION = "Say: well"
MARKS = {health.OK: "ok", health.WARNING: "warning", health.ERROR: "ERROR"}


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser):
        parser.add_argument(
            "--probe", action="store_true", help="also ask the language model one small question"
        )

    def handle(self, *, probe, **_options):
        self.errors = 0
        self.line("version", health.OK, settings.VERSION)
        for name, sentence in ready().items():
            self.line(name, health.ERROR if sentence else health.OK, sentence)
        for finding in read_replica():
            self.line(finding.name, finding.level, finding.text)
        for sentence in health.settings_problems():
            self.line("settings", health.ERROR, sentence)
        self.line("embeddings", *_embeddings())
        try:
            for space in Space.objects.order_by("pk"):
                self._look_at(space, probe=probe)
        except DatabaseError:
            self.line("spaces", health.ERROR, "The tables cannot be read: run manage.py migrate.")
        if self.errors:
            things = "1 thing needs" if self.errors == 1 else f"{self.errors} things need"
            raise CommandError(f"{things} you.")

    def _look_at(self, space: Space, *, probe: bool):
        self.stdout.write(f"\n{space.name} ({space.slug})")
        choice = choose("chat", space=space)
        self.line("answers", health.OK, f"{choice.provider}, {choice.model}")
        for finding in health.check(space, now=timezone.now()):
            self.line(finding.name, finding.level, finding.text)
        if probe:
            self.line("probe", *_probe(space))

    def line(self, name: str, level: str, text: str = ""):
        self.errors += level == health.ERROR
        self.stdout.write(f"  {MARKS[level]:<8} {name:<14} {text}".rstrip())


def _embeddings() -> tuple[str, str]:
    if not embed.enabled():
        return health.WARNING, "Switched off: memories are found by words alone."
    try:
        embed.embed_query("How are you?")
    except embed.EmbeddingFailed as error:
        return health.ERROR, str(error)
    return health.OK, embed.current().name


def _probe(space: Space) -> tuple[str, str]:
    # The built-in provider reads the briefing instead of prose.
    briefing = Briefing(QUESTION, now=timezone.now())
    prompt = {"system": "Answer with one word.", "briefing": briefing}
    messages = [{"role": "user", "content": QUESTION}]
    try:
        answer = complete("chat", space=space, messages=messages, max_tokens=16, **prompt)
    except ProviderError as error:
        return health.ERROR, str(error)
    return health.OK, f"{answer.provider} answered in {answer.ms} ms"
