"""Sleep: consolidate what was learned, now or when it is due."""

from datetime import UTC, datetime

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memory.models import Space
from sleep import budgeted_model, cycle
from sleep.models import Night, Proposal


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser):
        parser.add_argument("--space", help="slug of one space; all of them otherwise")
        parser.add_argument("--now", action="store_true", help="also when no night is due")
        parser.add_argument(
            "--resume", action="store_true", help="only go on with a night that stopped"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="say what would be done, change nothing"
        )
        parser.add_argument("--status", action="store_true", help="how the last nights went")
        parser.add_argument("--proposals", action="store_true", help="what waits for a decision")

    def handle(self, *, space, now, resume, dry_run, status, proposals, **options):
        spaces = list(self._spaces(space))
        if status:
            return self._each(spaces, self._status)
        if proposals:
            return self._each(spaces, self._proposals)
        failed = [
            one for one in spaces if not self._sleep(one, now=now, resume=resume, dry_run=dry_run)
        ]
        if failed:
            raise CommandError(f"{len(failed)} of {len(spaces)} spaces could not sleep through.")
        return None

    def _spaces(self, slug):
        found = Space.objects.order_by("pk")
        if slug is None:
            return found
        if not found.filter(slug=slug).exists():
            raise CommandError(f"There is no space called {slug}.")
        return found.filter(slug=slug)

    def _each(self, spaces, show):
        for space in spaces:
            self.stdout.write(self.style.MIGRATE_HEADING(space.name))
            show(space)

    def _sleep(self, space, *, now, resume, dry_run) -> bool:
        moment = timezone.now()
        if not (
            now
            or cycle.has_stopped_night(space)
            or (not resume and cycle.is_due(space, now=moment))
        ):
            self.stdout.write(
                f"{space.name}: nothing to resume." if resume else f"{space.name}: not due."
            )
            return True
        given = budgeted_model.model_for_space(space)
        try:
            night = (
                cycle.rehearse(space, now=moment, complete=given["complete"])
                if dry_run
                else cycle.sleep(space, now=moment, **given, asked_by="command", if_due=not now)
            )
        except (cycle.AlreadyAsleep, cycle.NotDue) as told:
            self.stdout.write(f"{space.name}: {told}")
            return True
        except Exception as error:
            self.stderr.write(f"{space.name}: the night failed and will be tried again: {error}")
            return False
        self.stdout.write(
            f"{space.name}: {night}" + (" (rehearsed, nothing kept)" if dry_run else "")
        )
        phases = night.told if dry_run else list(night.phases.filter(run=night.run))
        self._phases(phases)
        if given["complete"]:
            self._spending(night, phases, given["mode"], dry_run)
        return True

    def _spending(self, night, phases, model, dry_run):
        cap = night.space.options.budget_night
        may = f"may spend ${cap:.2f}" if cap else "no limit"
        n = sum(int(phase.counts.get("questions", 0)) for phase in phases)
        asked = "would ask" if dry_run else "asked"
        spent = "" if dry_run else f", spent ${night.cost:.4f}"
        self.stdout.write(
            f"  {asked} {model} {n} question{'' if n == 1 else 's'},"
            f" estimated ${night.cost_estimate:.4f}{spent} ({may})"
        )

    def _phases(self, phases):
        for phase in phases:
            counts = ", ".join(f"{name} {n:g}" for name, n in sorted(phase.counts.items()) if n)
            self.stdout.write(
                f"  {phase.phase:<14} {phase.seconds:6.1f} s  {counts or 'nothing to do'}"
            )

    def _status(self, space):
        found = Night.objects.filter(space=space).order_by("-local_date")[:7]
        if not found:
            self.stdout.write("  has never slept")
        for night in found:
            asked = (
                f"  {night.mode}: ${night.cost:.4f}, estimated ${night.cost_estimate:.4f}"
                if night.mode != budgeted_model.HEURISTICS
                else ""
            )
            waits = night.proposals.filter(status=Proposal.Status.PENDING).count()
            self.stdout.write(
                f"  {night.local_date}  {night.get_status_display():<8}"
                f" {night.changes.count()} applied, {waits} to decide{asked}"
                f"  {night.error}".rstrip()
            )
        self.stdout.write(
            "  due now" if cycle.is_due(space, now=datetime.now(UTC)) else "  not due"
        )

    def _proposals(self, space):
        waiting = Proposal.objects.filter(space=space, status=Proposal.Status.PENDING)
        if not waiting:
            self.stdout.write("  nothing to decide")
        for one in waiting.order_by("created_at"):
            flags = f"  [{', '.join(one.flags)}]" if one.flags else ""
            kind = one.get_kind_display()
            self.stdout.write(f"  {one.pk:>5}  {kind:<20} {one.confidence:.2f}  {one.title}{flags}")
            days = (timezone.now() - one.created_at).days
            self._indented(f"{days} day{'s' * (days != 1)} old, by {one.mode}")
            for thing in one.targets[:3]:
                then = one.before.get(f"{thing['type']}:{thing['id']}", {})
                if was := then.get("text") or then.get("trigger"):
                    self.stdout.write(self.style.ERROR(f"         - {was}"))
            if text := one.after.get("text") or one.after.get("response"):
                self.stdout.write(self.style.SUCCESS(f"         + {text}"))
            self._because(one)

    def _because(self, proposal):
        for line in proposal.rationale.splitlines()[:6]:
            self._indented(line)
        for item in proposal.evidence[:5]:
            told = ", ".join(filter(None, [item.get("by"), str(item.get("at") or "")[:10]]))
            self._indented(f"“{item.get('quote', '')}”" + (f" ({told})" if told else ""))

    def _indented(self, text):
        self.stdout.write(f"           {text}")
