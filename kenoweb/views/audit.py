from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from kenoweb.access import in_space
from kenoweb.audit_pages import audit_list


@in_space(role="curator")
@require_safe
def index(request, space):
    found = audit_list(space, request.GET, user=request.user, now=timezone.now())
    return render(request, "audit/index.html", {"list": found})
