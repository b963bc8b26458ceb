"""How Keno is, for people. What machines ask stands in views/probes.py."""

from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from kenoweb.access import in_space
from kenoweb.health_pages import health_page


@in_space(role="viewer")
@require_safe
def index(request, space):
    return render(request, "health/index.html", {"page": health_page(space, now=timezone.now())})
