from django.shortcuts import render
from django.views.decorators.http import require_safe

from kenoweb import search
from kenoweb.access import in_space


@in_space(role="viewer")
@require_safe
def index(request, space):
    said = request.GET.get("q", "")
    groups = search.find(space, said, member=request.member)
    shown = {"q": said[: search.LONGEST], "groups": groups, "told": search.told(groups)}
    return render(request, "search/index.html", shown)
