"""Reject requests from other sites that would change something."""

from django.core.exceptions import PermissionDenied

SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}


class RejectCrossSite:
    """Refuse unsafe requests that the browser marks as cross-site, in addition to CSRF."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        return self.get_response(request)

    def process_view(self, request, view, args, kwargs):
        foreign = request.headers.get("Sec-Fetch-Site") == "cross-site"
        # Views for programs are exempt from CSRF and ask for a token instead.
        if (
            foreign
            and request.method not in SAFE_METHODS
            and not getattr(view, "csrf_exempt", False)
        ):
            raise PermissionDenied
