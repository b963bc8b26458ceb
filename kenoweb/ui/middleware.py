"""Strict headers and toasts on every response; requests from other sites are refused."""

from django.contrib.messages import get_messages
from django.core.exceptions import PermissionDenied
from django.template.loader import render_to_string
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; object-src 'none'"
)
PERMISSIONS = "camera=(), geolocation=(), microphone=(), payment=(), usb=(), browsing-topics=()"
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
# Answers whose body htmx swaps in; see responseHandling in base.html.
SWAPPED = {200, 409, 422}


class StrictHeaders(MiddlewareMixin):
    """Only our own files run (Django 5.2 has no CSP of its own) and no page is kept in a cache."""

    def process_response(self, request, response):
        response.setdefault("Content-Security-Policy", CSP)
        response.setdefault("Permissions-Policy", PERMISSIONS)
        # Static files bring their own rule; everything else may show memory.
        response.setdefault("Cache-Control", "no-store")
        patch_vary_headers(response, ["HX-Request"])
        return response


class ToastsInFragments(MiddlewareMixin):
    """Append pending messages, out of band, to answers htmx swaps in.

    Full pages show their messages in base.html; a fragment has no base.
    """

    def process_response(self, request, response):
        if self.is_fragment(request, response) and (pending := list(get_messages(request))):
            html = render_to_string("_toasts.html", {"messages": pending, "oob": True}, request)
            # In <template>: after a <tr> the parser would tear a bare <form> apart.
            response.content += f"<template>{html}</template>".encode()
        return response

    @staticmethod
    def is_fragment(request, response) -> bool:
        return (
            bool(request.htmx)
            and request.method == "POST"
            and response.status_code in SWAPPED
            and not response.streaming
            # The page it redirects to shows them.
            and "HX-Redirect" not in response
        )


class RejectCrossSite(MiddlewareMixin):
    """Refuse unsafe requests that the browser marks as cross-site, in addition to CSRF."""

    def process_view(self, request, view, args, kwargs):
        is_foreign = request.headers.get("Sec-Fetch-Site") == "cross-site"
        # Views for programs are exempt from CSRF and ask for a token instead.
        is_exempt = request.method in SAFE_METHODS or getattr(view, "csrf_exempt", False)
        if is_foreign and not is_exempt:
            raise PermissionDenied
