from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from kenoweb import overview
from kenoweb.access import in_space


@in_space(role="viewer")
@require_safe
def index(request, space):
    return render(request, "overview/index.html", overview.build(space, now=timezone.now()))
