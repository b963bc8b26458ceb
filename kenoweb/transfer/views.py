"""Import and export: uploads up to a limit, and the steps of an import."""

from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.core.files.uploadhandler import StopUpload, TemporaryFileUploadHandler
from django.http import FileResponse, Http404, HttpRequest, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from kenoweb.auth.access import get_in_space_or_404, in_space, space_for
from kenoweb.auth.sessions import go, is_confirmed
from kenoweb.auth.throttle import client_ip
from kenoweb.transfer import page
from kenoweb.ui.responses import space_url, toast, toast_error
from memory import transfer
from memory.history import audit
from memory.history import changes as history
from memory.history.actors import person
from memory.models import AuditEntry, Parcel
from memory.transfer import staged_files, tasks
from memory.transfer.containers import Refused
from sleep import imports

MB = 1024 * 1024
# The other fields of the request, beside the file.
MAX_OTHER_FIELDS = 64 * 1024
Status = Parcel.Status


def takes_files(view: Callable) -> Callable:
    """Mark the view whose form sends a file; all other views discard files unread."""
    view.keno_takes_files = True
    return view


def limit() -> int:
    return settings.KENO_UPLOAD_MB * MB


class Capped(TemporaryFileUploadHandler):
    """Write uploads to a temporary file, as Django does, but only expected ones up to a limit.

    The form is parsed before the view is called, so permission is checked here, too.
    """

    def new_file(self, *args, **kwargs):
        if not _expected(self.request):
            raise StopUpload(connection_reset=True)
        size = int(self.request.META.get("CONTENT_LENGTH") or 0)
        if size > limit() + MAX_OTHER_FIELDS:
            self._stop(size)
        super().new_file(*args, **kwargs)

    def receive_data_chunk(self, raw_data, start):
        if start + len(raw_data) > limit():
            self._stop(start)
        return super().receive_data_chunk(raw_data, start)

    def _stop(self, size: int) -> None:
        self.request.is_too_large = True
        # A browser that is cut off shows its own error; one that may finish shows our sentence.
        raise StopUpload(connection_reset=size > 2 * limit())


def _expected(request: HttpRequest) -> bool:
    match = request.resolver_match
    if not match or not getattr(match.func, "keno_takes_files", False):
        return False
    try:
        space_for(request, match.kwargs["space"], role="owner")
    except (Http404, PermissionDenied):
        return False
    return is_confirmed(request)


@in_space(role="owner", sudo=True)
def index(request, space):
    return render(request, "transfer/index.html", page.index(space))


@in_space(role="owner", methods="POST", sudo=True)
@takes_files
def keep(request, space):
    form = page.FileForm(request.POST, request.FILES)
    if getattr(request, "is_too_large", False):
        return _refused(request, space, page.too_large(), status=413)
    if not form.is_valid():
        return _refused(request, space, page.mistake(form), status=422)
    file, by = form.cleaned_data["file"], person(request.user)
    parcel = tasks.upload(space, file, by=by, now=page.is_short(file), **form.options)
    return redirect("transfer:detail", space.slug, parcel.pk)


@in_space(role="owner", sudo=True)
def detail(request, space, pk):
    context = page.report(space, get_in_space_or_404(space, Parcel, pk), request.GET)
    return render(request, "transfer/detail.html", context)


@in_space(role="owner", methods="POST", sudo=True)
def look(request, space, pk):
    """Read the file again, as another format."""
    parcel = get_in_space_or_404(space, Parcel, pk, way=Parcel.Way.IN)
    form = page.KindForm(request.POST)
    after = (Status.READY, Status.REFUSED, Status.UNDONE)
    if form.is_valid():
        _start_step(request, parcel, Status.LOOKING, after=after, **form.options)
    return redirect("transfer:detail", space.slug, pk)


@in_space(role="owner", methods="POST", sudo=True)
def apply(request, space, pk):
    parcel = get_in_space_or_404(space, Parcel, pk, way=Parcel.Way.IN)
    by = person(request.user)
    after = (Status.READY, Status.UNDONE)
    if _start_step(request, parcel, Status.APPLYING, after=after, by=by):
        parcel.refresh_from_db()
        if parcel.status == Status.APPLIED:
            undo_url = space_url("transfer:undo", space, page.entry_of(space, parcel).pk)
            toast(request, _("Imported."), undo=undo_url)
    return redirect("transfer:detail", space.slug, pk)


@in_space(role="owner", sudo=True)
def impact(request, space, pk):
    """Show which past answers an import of this file would change; nothing is saved."""
    parcel = get_in_space_or_404(space, Parcel, pk, way=Parcel.Way.IN)
    parcel.space = space
    context = {"back": space_url("transfer:detail", space, pk)}
    try:
        context["impact"] = staged_files.impact(parcel, now=timezone.now())
    except Refused as refusal:
        context["refusal"] = str(refusal)
    return render(request, "proposals/impact.html", context)


@in_space(role="owner", methods="POST", sudo=True)
def undo(request, space, pk):
    """Undo a whole import, of this page or of the command line."""
    entry = get_in_space_or_404(space, AuditEntry, pk, action="import")
    parcel = page.parcel_of(space, entry)
    if not _unlearned(request, space, entry):
        return go(request, _page_of(space, entry))
    if parcel is None:
        _undo_now(request, space, entry)
        return go(request, space_url("transfer:index", space))
    _start_step(request, parcel, Status.UNDOING, after=(Status.APPLIED,))
    return go(request, space_url("transfer:detail", space, parcel.pk))


@in_space(role="owner", methods="POST", sudo=True)
def learn(request, space, pk):
    """Propose what people say in the messages of an import, in the background."""
    entry = get_in_space_or_404(space, AuditEntry, pk, action="import")
    speaker = request.user.get_full_name() or request.user.username
    imports.start(space, entry, by=person(request.user), speaker=speaker)
    return go(request, _page_of(space, entry))


@in_space(role="owner", methods="POST", sudo=True)
def unlearn(request, space, pk):
    entry = get_in_space_or_404(space, AuditEntry, pk, action="import")
    if _unlearned(request, space, entry):
        toast(request, _("What was learned from it is taken back."))
    return go(request, _page_of(space, entry))


@in_space(role="owner", methods="POST", sudo=True)
def export(request, space):
    format, by = request.POST.get("format", ""), person(request.user)
    if format not in transfer.EXPORTS:
        return _refused(request, space, _("Choose what to export."), status=422)
    if not page.is_short_export(space):
        parcel = tasks.request_export(space, format, by=by)
        return redirect("transfer:detail", space.slug, parcel.pk)
    file = page.written(space, format, by=by, ip=client_ip(request))
    name, kind = transfer.file_name(space, format), transfer.EXPORTS[format].content_type
    return FileResponse(file, as_attachment=True, filename=name, content_type=kind)


@in_space(role="owner", methods="POST", sudo=True)
def download(request, space, pk):
    parcel = get_in_space_or_404(space, Parcel, pk)
    if parcel.status != Status.PACKED:
        toast_error(request, _("It is not ready yet."))
        return redirect("transfer:detail", space.slug, pk)
    who = {"actor": person(request.user), "space": space, "ip": client_ip(request)}
    audit.record("export.downloaded", format=parcel.format, name=parcel.name, **who)
    kind = transfer.EXPORTS[parcel.format].content_type
    response = StreamingHttpResponse(staged_files.chunks(parcel), content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="{parcel.name}"'
    response["Content-Length"] = parcel.size
    return response


@in_space(role="owner", methods="POST", sudo=True)
def discard(request, space, pk):
    if staged_files.discard(get_in_space_or_404(space, Parcel, pk)):
        toast(request, _("The file is gone. What was imported from it stays."))
    else:
        toast_error(request, _("It is being imported right now."))
    return redirect("transfer:index", space.slug)


def _start_step(request, parcel, status, *, after, **values) -> bool:
    """Start the next step, at once or by a job; return False when it is not its turn."""
    by, now = person(request.user), page.is_short(parcel)
    if tasks.start_step(parcel, status=status, after=after, asker=by, now=now, **values):
        return True
    toast_error(request, _("That is not possible now: %s.") % parcel.get_status_display())
    return False


def _page_of(space, entry) -> str:
    """Return the URL of the file while it is kept, else of the list of imports."""
    if parcel := page.parcel_of(space, entry):
        return space_url("transfer:detail", space, parcel.pk)
    return space_url("transfer:index", space)


def _unlearned(request, space, entry) -> bool:
    try:
        imports.undo(space, entry, by=person(request.user))
    except history.Conflict as reason:
        toast_error(request, str(reason))
        return False
    return True


def _undo_now(request, space, entry):
    try:
        transfer.undo(space, entry.details["change"], by=person(request.user))
        toast(request, _("The import was undone."))
    except (history.Conflict, transfer.UnknownImport) as reason:
        toast_error(request, str(reason))


def _refused(request, space, sentence, *, status):
    context = page.index(space) | {"problem": sentence}
    return render(request, "transfer/index.html", context, status=status)
