from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from kenoweb.access import in_space
from kenoweb.cost_pages import cost_page


@in_space(role="viewer")
@require_safe
def index(request, space):
    page = cost_page(space, period=request.GET.get("period", ""), now=timezone.now())
    return render(request, "costs/index.html", {"page": page})
