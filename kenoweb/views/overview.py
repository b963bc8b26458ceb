from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from kenoweb import night_progress, overview
from kenoweb.access import in_space


@in_space(role="viewer")
@require_safe
def index(request, space):
    shown = overview.build(space, now=timezone.now())
    shown |= {"space": space, "progress": night_progress.progress(space)}
    return render(request, "overview/index.html", shown)
