"""The operations as REST under /api/v1/, with OpenAPI 3.1 and its page, by django-ninja."""

import inspect
import json
import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from ninja import Body, Header, NinjaAPI, Path, Query
from ninja.errors import HttpError, ValidationError
from ninja.openapi.docs import DocsBase
from ninja.security import HttpBearer
from pydantic import BaseModel, create_model
from pydantic import ValidationError as PydanticError

from kenoweb.api import shapes
from kenoweb.api.calls import Refused, rights
from kenoweb.api.oauth import challenge
from kenoweb.api.operations import DATA_WARNING, OPERATIONS, Operation, perform
from kenoweb.auth.access import public, with_token
from memory.chats.service import BadChatId
from memory.facts.service import Invalid

log = logging.getLogger(__name__)
PROBLEM_TYPE = "application/problem+json"
REFUSALS = (400, 401, 403, 404, 409, 412, 422, 429, 502, 503)
BODIES = ("POST", "PUT", "PATCH")


class Problem(BaseModel):
    """Why a call was not answered (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str


class Page(DocsBase):
    """Every operation in words, with a line for the terminal that works as it stands.

    In the reader's language; what programs read (OpenAPI, MCP) stays in English.
    """

    def render_page(self, request: HttpRequest, api: NinjaAPI, **_more: Any) -> HttpResponse:
        home = request.build_absolute_uri("/api/v1")
        operations = [_describe(operation, home) for operation in OPERATIONS.values()]
        context = {"operations": operations, "home": "/api/v1", "about": _(ABOUT)}
        return render(request, "api/docs.html", context)


def _describe(operation: Operation, home: str) -> dict[str, Any]:
    names = ("name", "method", "path", "scope", "private")
    fields = operation.takes.model_fields.items()
    return {name: getattr(operation, name) for name in names} | {
        "title": _translated(operation.title),
        "description": _translated(operation.description),
        "fields": [(name, _translated(field.description or "")) for name, field in fields],
        "curl": _curl(operation, home),
    }


def _translated(english: str) -> str:
    # The translation of the empty string is the head of the catalogue.
    return _(english) if english else ""


def _curl(operation: Operation, home: str) -> str:
    path = operation.path.replace("{id}", "1").replace("{change}", "CHANGE")
    line = f'curl -H "Authorization: Bearer $KENO_TOKEN" {home}{path}'
    if operation.method != "GET":
        line += f" -X {operation.method}"
    if operation.example:
        body = json.dumps(operation.example, ensure_ascii=False)
        line += f" -H 'Content-Type: application/json' -d '{body}'"
    return line + (" -OJ" if operation.gives is None else "")


class Key(HttpBearer):
    """The key itself; every operation looks up anew what it may do."""

    openapi_description = "An API token of the dashboard: keno_…"

    def authenticate(self, request: HttpRequest, token: str) -> str:
        return token.strip()


ABOUT = (
    f"The memory of the space that the token names. {DATA_WARNING} Errors are problems "
    "(RFC 9457) with a sentence. A write with an `Idempotency-Key` is done once; `If-Match` with "
    "the `version` you read refuses to write over a later change."
)
api = NinjaAPI(
    title="Keno",
    version=settings.VERSION,
    description=ABOUT,
    urls_namespace="api",
    docs=Page(),
    auth=Key(),
    docs_decorator=public,
)


def problem(status: int, detail: str, *, after: int = 0) -> JsonResponse:
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    response = JsonResponse(body | {"detail": detail}, status=status, content_type=PROBLEM_TYPE)
    if after:
        response["Retry-After"] = str(after)
    if status == HTTPStatus.UNAUTHORIZED:
        response["WWW-Authenticate"] = "Bearer"
    return response


def explain(error: Exception) -> JsonResponse:
    if isinstance(error, Refused):
        return problem(error.status, str(error), after=error.after)
    if isinstance(error, ValidationError):
        # The values are not repeated: they may be long, or not meant to be seen.
        names = (".".join(map(str, fault["loc"][1:]))[:80] for fault in error.errors)
        faults = zip(names, error.errors, strict=True)
        wrong = "; ".join(f"{name}: {fault['msg']}" for name, fault in faults)
        return problem(422, _("Put this right: %(wrong)s.") % {"wrong": wrong})
    if isinstance(error, BadChatId | Invalid):
        return problem(400, str(error))
    if isinstance(error, HttpError):
        no_key = _("Send “Authorization: Bearer …” with an API token.")
        return problem(error.status_code, no_key if error.status_code == 401 else str(error))
    if isinstance(error, Http404):
        return problem(404, _("There is nothing at this address."))
    if isinstance(error, DatabaseError | InterfaceError):
        log.error("a call failed", extra={"why": str(error).partition("\n")[0]})
        sentence = _("The database does not answer as it should. Nothing was kept: send it again.")
        return problem(503, sentence, after=5)
    log.error("a call failed", exc_info=error)
    return problem(500, _("Something went wrong inside Keno. Its log says what."))


for kind in (Refused, ValidationError, BadChatId, Invalid, HttpError, Http404, Exception):
    api.add_exception_handler(kind, lambda request, error: explain(error))


def _endpoint(operation: Operation) -> Callable:
    """Return the view of one operation, with the parameters that ninja reads and documents."""
    fields = operation.takes.model_fields
    in_path = [name for name in fields if f"{{{name}}}" in operation.path]
    rest = [name for name in fields if name not in in_path and name != "version"]

    def view(request: HttpRequest, **arguments: Any) -> Any:
        values = {name: arguments[name] for name in in_path}
        shape = arguments.get("asked")
        values |= shape.model_dump(exclude_unset=True) if shape else {}
        if arguments.get("if_match"):
            values["version"] = arguments["if_match"].strip('" W/')
        once = arguments.get("idempotency_key", "")
        result = perform(operation, request.auth, _read(operation, values), once=once)
        if operation.gives is not None:
            return _answer(operation, result)
        file, name, kind = result
        return FileResponse(file, as_attachment=True, filename=name, content_type=kind)

    parameters = {name: (fields[name].annotation, Path(...)) for name in in_path}
    if rest:
        source = Body if operation.method in BODIES else Query
        parameters["asked"] = (_part(operation.takes, rest), source(...))
    if "version" in fields:
        parameters["if_match"] = (str, Header("", alias="If-Match"))
    if operation.writes and operation.method == "POST":
        parameters["idempotency_key"] = (str, Header("", alias="Idempotency-Key", max_length=255))
    view.__name__, view.__signature__ = operation.name, _signature(parameters)
    return view


def _read(operation: Operation, values: dict[str, Any]) -> BaseModel:
    try:
        return operation.takes.model_validate(values)
    except PydanticError as invalid:
        errors: Any = [error | {"loc": ("", *error["loc"])} for error in invalid.errors()]
        raise ValidationError(errors) from None


def _signature(parameters: dict) -> inspect.Signature:
    request = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    kind = inspect.Parameter.KEYWORD_ONLY
    others = [
        inspect.Parameter(name, kind, annotation=annotation, default=default)
        for name, (annotation, default) in parameters.items()
    ]
    return inspect.Signature([request, *others])


def _part(takes: type[BaseModel], names: list[str]) -> type[BaseModel]:
    """Return the shape without what stands in the path and in headers."""
    if len(names) == len(takes.model_fields):
        return takes
    every = takes.model_fields
    fields = {name: (every[name].annotation, every[name]) for name in names}
    return create_model(f"{takes.__name__}Body", __base__=shapes.Asked, **fields)


def _answer(operation: Operation, result: BaseModel) -> HttpResponse:
    outcome = getattr(result, "outcome", "")
    waits = outcome == "proposed" or getattr(result, "status", "") == "accepted"
    status = 201 if outcome == "new" else operation.status
    status = 202 if waits and operation.writes else status
    response = JsonResponse(result.model_dump(mode="json"), status=status)
    # The version that `me` returns is that of Keno.
    if operation.name != "me" and (version := getattr(result, "version", "")):
        response["ETag"] = f'"{version}"'
    return response


def _register(operation: Operation) -> None:
    statuses = (200, 201, 202) if operation.writes else (200,)
    gives = dict.fromkeys(statuses, operation.gives or bytes)
    body = {"requestBody": {"content": {"application/json": {"example": operation.example}}}}
    api.api_operation(
        [operation.method],
        operation.path,
        response=gives | dict.fromkeys(REFUSALS, Problem),
        operation_id=operation.name,
        summary=operation.title,
        description=f"{operation.description} Needs the right `{operation.scope}`"
        f"{' and `private`' if operation.private else ''}.".strip(),
        tags=[operation.path.split("/")[1]],
        openapi_extra=body if operation.example else None,
        url_name=operation.name,
    )(_endpoint(operation))


for _operation in OPERATIONS.values():
    _register(_operation)


def urls() -> list:
    """Return the addresses of the API: for programs with a token, the documents for everybody."""
    patterns, _app, _space = api.urls
    for pattern in patterns:
        if pattern.name == "api-root":
            pattern.callback = public(index)
        elif not pattern.name.startswith("openapi"):
            pattern.callback = with_token(pattern.callback)
    return patterns


def index(request: HttpRequest) -> JsonResponse:
    links = {"docs": "/api/v1/docs", "openapi": "/api/v1/openapi.json", "mcp": "/mcp"}
    return JsonResponse({"name": "Keno", "version": settings.VERSION} | links)


def key_of(request: HttpRequest, *kinds: str) -> str:
    """Return the key in the Authorization header; `kinds` are other words for Bearer."""
    kind, _space, key = request.headers.get("Authorization", "").partition(" ")
    return key.strip() if kind.lower() in ("bearer", *kinds) else ""


def alias(method: str, name: str) -> Callable:
    """Return an operation for an address that other documents name, with its query as fields."""
    operation = OPERATIONS[name]

    def view(request: HttpRequest) -> HttpResponse:
        fields = operation.takes.model_fields
        values = {name: request.GET[name] for name in fields if name in request.GET}
        try:
            if not key_of(request):
                raise HttpError(401, "")
            if request.method != method:
                raise HttpError(405, _("Send a %(method)s.") % {"method": method})
            result = perform(operation, key_of(request), _read(operation, values))
            return _answer(operation, result)
        except Exception as error:
            return explain(error)

    return csrf_exempt(with_token(view))


@csrf_exempt
@with_token
def over_mcp(request: HttpRequest) -> HttpResponse:
    key = key_of(request)
    try:
        if not rights(key):
            raise Refused(_("Send “Authorization: Bearer …” with an API token."), 401)
    except Exception as error:
        response = explain(error)
        if response.status_code == 401:
            response["WWW-Authenticate"] = challenge(request)
        return response
    if request.method != "POST":
        return HttpResponse(status=405, headers={"Allow": "POST"})
    # Imported here: its library takes a quarter of the start, and most installations have no agent.
    from kenoweb.api import server

    return server.exchange(key, request)
