from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from kenoweb.access import LAST_SPACE, memberships, signed_in


@signed_in
@require_safe
def home(request):
    slugs = [member.space.slug for member in memberships(request)]
    if not slugs:
        return redirect("spaces:index")
    last = request.COOKIES.get(LAST_SPACE)
    return redirect("overview:index", last if last in slugs else slugs[0])
