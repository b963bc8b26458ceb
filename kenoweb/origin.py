"""Requests that change something come from our own pages."""

from django.core.exceptions import PermissionDenied

SAFE = {"GET", "HEAD", "OPTIONS"}


class OwnPagesOnly:
    """Refuse what, by the word of the browser, another site sent. A second lock beside CSRF."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        return self.get_response(request)

    def process_view(self, request, view, args, kwargs):
        foreign = request.headers.get("Sec-Fetch-Site") == "cross-site"
        # Views for programs are exempt from CSRF and ask for a token instead.
        if foreign and request.method not in SAFE and not getattr(view, "csrf_exempt", False):
            raise PermissionDenied
