from django.http import JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from kenoweb import memory_map
from kenoweb.access import in_space


@in_space(role="viewer")
@require_safe
def index(request, space):
    said = request.GET.get("from", "")
    begin = int(said) if said.isascii() and said.isdigit() and len(said) < 6 else 0
    colour = "age" if request.GET.get("colour") == "age" else "kind"
    context = memory_map.page(
        space, colour=colour, show=_show(request), begin=begin, now=timezone.now()
    )
    context["more"] = _more(request, context["next"]) if context["next"] else ""
    return render(request, "map/index.html", context)


@in_space(role="viewer")
@require_safe
def points(request, space):
    """Where each dot is and what it says, for the script that lets one point at it."""
    found = memory_map.told(space, memory_map.chosen(space, _show(request)))
    return JsonResponse(
        {"points": [[one.dot.x, one.dot.y, one.label, one.text, one.url] for one in found]}
    )


def _more(request, begin: int) -> str:
    said = request.GET.copy()
    said["from"] = begin
    return f"{request.path}?{said.urlencode()}"


def _show(request) -> str:
    said = request.GET.get("show", "")
    return said if said in memory_map.SHOWN else ""
