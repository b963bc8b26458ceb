"""For machines that watch: is the process alive, is it ready for work?"""

from django.conf import settings
from django.http import HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from kenoweb import health
from kenoweb.access import public, with_token
from memory import metrics as numbers


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


@with_token
@csrf_exempt
def metrics(request):
    """For Prometheus. Without METRICS_TOKEN in the environment nobody gets in."""
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    known = settings.METRICS_TOKEN
    if not known or not constant_time_compare(given, known):
        return HttpResponse("Send METRICS_TOKEN as a bearer token.\n", status=401)
    text = numbers.text(now=timezone.now())
    return HttpResponse(text, content_type="text/plain; version=0.0.4; charset=utf-8")
