"""Pages for when nothing else can answer. They read no database and no session."""

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpResponse
from django.template.loader import get_template


def broken(request):
    """500, or 503 when it was the database that did not answer."""
    kind = sys.exc_info()[0] or Exception
    status = 503 if issubclass(kind, OperationalError | InterfaceError) else 500
    response = HttpResponse(get_template(f"{status}.html").render(), status=status)
    if status == 503:
        response["Retry-After"] = "10"
    return response
