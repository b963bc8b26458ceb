"""Files that browsers send: read for whom the page is, up to a limit, and not a byte further."""

from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.core.files.uploadhandler import StopUpload, TemporaryFileUploadHandler
from django.http import Http404, HttpRequest

from kenoweb.auth.access import space_for
from kenoweb.auth.sessions import is_confirmed

MB = 1024 * 1024
# What surrounds the file in the request: the other fields, and lines between.
AROUND = 64 * 1024


def takes_files(view: Callable) -> Callable:
    """Mark the view whose form sends a file; every other address throws files away unread."""
    view.keno_takes_files = True
    return view


def limit() -> int:
    return settings.KENO_UPLOAD_MB * MB


class Capped(TemporaryFileUploadHandler):
    """To a temporary file, as Django does; but the form is read before a view is asked, so it is
    here that strangers are turned away and that too much is too much."""

    def new_file(self, *args, **kwargs):
        if not _expected(self.request):
            raise StopUpload(connection_reset=True)
        size = int(self.request.META.get("CONTENT_LENGTH") or 0)
        if size > limit() + AROUND:
            self._stop(size)
        super().new_file(*args, **kwargs)

    def receive_data_chunk(self, raw_data, start):
        if start + len(raw_data) > limit():
            self._stop(start)
        return super().receive_data_chunk(raw_data, start)

    def _stop(self, size: int) -> None:
        self.request.is_too_large = True
        # A browser that is cut off shows its own error; one that is heard out shows our sentence.
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
