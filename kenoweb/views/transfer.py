from django.http import FileResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from kenoweb import transfer_pages as pages
from kenoweb.access import in_space, thing_for
from kenoweb.actions import say, warn
from kenoweb.address import client_ip
from kenoweb.sessions import go, sudo
from kenoweb.uploads import takes_files
from memory import audit, history, transfer
from memory.actors import person
from memory.models import AuditEntry, Parcel
from memory.transfer import parcels, tasks

Status = Parcel.Status


@in_space(role="owner")
@sudo
@require_safe
def index(request, space):
    return render(request, "transfer/index.html", pages.index(space))


@in_space(role="owner")
@sudo
@takes_files
@require_POST
def keep(request, space):
    form = pages.FileForm(request.POST, request.FILES)
    if getattr(request, "is_too_large", False):
        return _refused(request, space, pages.too_large(), status=413)
    if not form.is_valid():
        return _refused(request, space, pages.mistake(form), status=422)
    file, by = form.cleaned_data["file"], person(request.user)
    parcel = tasks.keep(space, file, by=by, now=pages.is_short(file), **form.asked)
    return redirect("transfer:detail", space.slug, parcel.pk)


@in_space(role="owner")
@sudo
@require_safe
def detail(request, space, pk):
    shown = pages.report(space, thing_for(space, Parcel, pk), request.GET)
    return render(request, "transfer/detail.html", shown)


@in_space(role="owner")
@sudo
@require_POST
def look(request, space, pk):
    """Look again, as something else."""
    parcel, form = thing_for(space, Parcel, pk, way=Parcel.Way.IN), pages.KindForm(request.POST)
    again = (Status.READY, Status.REFUSED, Status.UNDONE)
    if form.is_valid():
        _move(request, parcel, Status.LOOKING, after=again, **form.asked)
    return redirect("transfer:detail", space.slug, pk)


@in_space(role="owner")
@sudo
@require_POST
def apply(request, space, pk):
    parcel = thing_for(space, Parcel, pk, way=Parcel.Way.IN)
    by = person(request.user)
    if _move(request, parcel, Status.APPLYING, after=(Status.READY, Status.UNDONE), by=by):
        parcel.refresh_from_db()
        if parcel.status == Status.APPLIED:
            entry = pages.entry_of(space, parcel)
            say(request, _("Imported."), undo=reverse("transfer:undo", args=[space.slug, entry.pk]))
    return redirect("transfer:detail", space.slug, pk)


@in_space(role="owner")
@sudo
@require_POST
def undo(request, space, pk):
    """Take back a whole import, of this page or of the command line."""
    entry = thing_for(space, AuditEntry, pk, action="import")
    parcel = pages.parcel_of(space, entry)
    if parcel is None:
        _undo_now(request, space, entry)
        return go(request, reverse("transfer:index", args=[space.slug]))
    _move(request, parcel, Status.UNDOING, after=(Status.APPLIED,))
    return go(request, reverse("transfer:detail", args=[space.slug, parcel.pk]))


@in_space(role="owner")
@sudo
@require_POST
def export(request, space):
    format, by = request.POST.get("format", ""), person(request.user)
    if format not in transfer.EXPORTS:
        return _refused(request, space, _("Choose what to export."), status=422)
    if not pages.is_short_export(space):
        return redirect("transfer:detail", space.slug, tasks.ask(space, format, by=by).pk)
    file = pages.written(space, format, by=by, ip=client_ip(request))
    name, kind = transfer.file_name(space, format), transfer.EXPORTS[format].content_type
    return FileResponse(file, as_attachment=True, filename=name, content_type=kind)


@in_space(role="owner")
@sudo
@require_POST
def download(request, space, pk):
    parcel = thing_for(space, Parcel, pk)
    if parcel.status != Status.PACKED:
        warn(request, _("It is not ready yet."))
        return redirect("transfer:detail", space.slug, pk)
    told = {"actor": person(request.user), "space": space, "ip": client_ip(request)}
    audit.record("export.downloaded", format=parcel.format, name=parcel.name, **told)
    kind = transfer.EXPORTS[parcel.format].content_type
    response = StreamingHttpResponse(parcels.chunks(parcel), content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="{parcel.name}"'
    response["Content-Length"] = parcel.size
    return response


@in_space(role="owner")
@sudo
@require_POST
def discard(request, space, pk):
    if parcels.discard(thing_for(space, Parcel, pk)):
        say(request, _("The file is gone. What was imported from it stays."))
    else:
        warn(request, _("It is being imported right now."))
    return redirect("transfer:index", space.slug)


def _move(request, parcel, status, *, after, **values) -> bool:
    """Begin the next step, at once or by a job; False when it is not its turn."""
    by, now = person(request.user), pages.is_short(parcel)
    if tasks.move(parcel, status=status, after=after, asker=by, now=now, **values):
        return True
    warn(request, _("That is not possible now: %s.") % parcel.get_status_display())
    return False


def _undo_now(request, space, entry):
    try:
        transfer.undo(space, entry.details["change"], by=person(request.user))
        say(request, _("The import was taken back."))
    except (history.Conflict, transfer.UnknownImport) as reason:
        warn(request, str(reason))


def _refused(request, space, sentence, *, status):
    shown = pages.index(space) | {"problem": sentence}
    return render(request, "transfer/index.html", shown, status=status)
