"""For machines that watch: is the process alive, is it ready for work?"""

from django.http import HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from kenoweb import health
from kenoweb.access import public


@public
@require_safe
def healthz(request):
    return HttpResponse("ok\n", content_type="text/plain")


@public
@require_safe
def readyz(request):
    found = health.ready()
    well = not any(found.values())
    checks = {name: sentence or "ok" for name, sentence in found.items()}
    return JsonResponse({"ready": well, "checks": checks}, status=200 if well else 503)
