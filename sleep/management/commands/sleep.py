"""Sleep: consolidate what was learned, now or when it is due."""

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
        if status or proposals:
            for row in spaces:
                self.stdout.write(self.style.MIGRATE_HEADING(row.name))
                (self._status if status else self._proposals)(row)
            return
        options = {"now": now, "resume": resume, "dry_run": dry_run}
        failed = [row for row in spaces if not self._sleep(row, **options)]
        if failed:
            raise CommandError(f"{len(failed)} of {len(spaces)} spaces could not sleep through.")

    def _spaces(self, slug):
        if slug is None:
            return Space.objects.order_by("pk")
        spaces = Space.objects.filter(slug=slug)
        if not spaces:
            raise CommandError(f"There is no space called {slug}.")
        return spaces

    def _sleep(self, space, *, now, resume, dry_run) -> bool:
        moment = timezone.now()
        is_due = cycle.has_stopped_night(space) or (not resume and cycle.is_due(space, now=moment))
        if not (now or is_due):
            why = "nothing to resume." if resume else "not due."
            self.stdout.write(f"{space.name}: {why}")
            return True
        model = budgeted_model.model_for_space(space)
        try:
            if dry_run:
                night = cycle.rehearse(space, now=moment, complete=model["complete"])
            else:
                night = cycle.sleep(space, now=moment, **model, asked_by="command", if_due=not now)
        except (cycle.AlreadyAsleep, cycle.NotDue) as reason:
            self.stdout.write(f"{space.name}: {reason}")
            return True
        except Exception as error:
            self.stderr.write(f"{space.name}: the night failed and will be tried again: {error}")
            return False
        note = " (rehearsed, nothing kept)" if dry_run else ""
        self.stdout.write(f"{space.name}: {night}{note}")
        phases = night.told if dry_run else list(night.phases.filter(run=night.run))
        for phase in phases:
            counts = ", ".join(f"{name} {n:g}" for name, n in sorted(phase.counts.items()) if n)
            time = f"{phase.phase:<14} {phase.seconds:6.1f} s"
            self.stdout.write(f"  {time}  {counts or 'nothing to do'}")
        if model["complete"]:
            self._spending(night, phases, model["mode"], dry_run)
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

    def _status(self, space):
        recent = Night.objects.filter(space=space).order_by("-local_date")[:7]
        if not recent:
            self.stdout.write("  has never slept")
        for night in recent:
            cost = f"  {night.mode}: ${night.cost:.4f}, estimated ${night.cost_estimate:.4f}"
            cost = "" if night.mode == budgeted_model.HEURISTICS else cost
            waits = night.proposals.filter(status=Proposal.Status.PENDING).count()
            self.stdout.write(
                f"  {night.local_date}  {night.get_status_display():<8}"
                f" {night.changes.count()} applied, {waits} to decide{cost}"
                f"  {night.error}".rstrip()
            )
        is_due = cycle.is_due(space, now=timezone.now())
        self.stdout.write("  due now" if is_due else "  not due")

    def _proposals(self, space):
        waiting = Proposal.objects.filter(space=space, status=Proposal.Status.PENDING)
        if not waiting:
            self.stdout.write("  nothing to decide")
        for row in waiting.order_by("created_at"):
            flags = f"  [{', '.join(row.flags)}]" if row.flags else ""
            kind = row.get_kind_display()
            self.stdout.write(f"  {row.pk:>5}  {kind:<20} {row.confidence:.2f}  {row.title}{flags}")
            days = (timezone.now() - row.created_at).days
            self._write_indented(f"{days} day{'s' * (days != 1)} old, by {row.mode}")
            for target in row.targets[:3]:
                before = row.before.get(f"{target['type']}:{target['id']}", {})
                if text := before.get("text") or before.get("trigger"):
                    self.stdout.write(self.style.ERROR(f"         - {text}"))
            if text := row.after.get("text") or row.after.get("response"):
                self.stdout.write(self.style.SUCCESS(f"         + {text}"))
            self._reasons(row)

    def _reasons(self, proposal):
        for line in proposal.rationale.splitlines()[:6]:
            self._write_indented(line)
        for item in proposal.evidence[:5]:
            source = ", ".join(filter(None, [item.get("by"), str(item.get("at") or "")[:10]]))
            self._write_indented(f"“{item.get('quote', '')}”" + (f" ({source})" if source else ""))

    def _write_indented(self, text):
        self.stdout.write(f"           {text}")
