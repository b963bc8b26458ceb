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
        told = [_described(one, home) for one in OPERATIONS.values()]
        context = {"operations": told, "home": "/api/v1", "about": _(ABOUT)}
        return render(request, "api/docs.html", context)


def _described(operation: Operation, home: str) -> dict[str, Any]:
    names = ("name", "method", "path", "scope", "private", "title", "description")
    takes = operation.takes.model_fields
    fields = [(name, _in_words(one.description or "")) for name, one in takes.items()]
    told = {name: getattr(operation, name) for name in names}
    told |= {name: _in_words(told[name]) for name in ("title", "description")}
    return told | {"fields": fields, "curl": _curl(operation, home)}


def _in_words(english: str) -> str:
    # The catalogue's own head stands under the empty string.
    return _(english) if english else ""


def _curl(operation: Operation, home: str) -> str:
    where = operation.path.replace("{id}", "1").replace("{change}", "CHANGE")
    line = f'curl -H "Authorization: Bearer $KENO_TOKEN" {home}{where}'
    if operation.method != "GET":
        line += f" -X {operation.method}"
    if operation.example:
        sent = json.dumps(operation.example, ensure_ascii=False)
        line += f" -H 'Content-Type: application/json' -d '{sent}'"
    return line + (" -OJ" if operation.gives is None else "")


class Key(HttpBearer):
    """The key itself; what it may do is asked anew by every operation."""

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
    """The answer to a call that failed, whatever failed."""
    if isinstance(error, Refused):
        return problem(error.status, str(error), after=error.after)
    if isinstance(error, ValidationError):
        # What was given is not repeated: it may be long, or not meant to be seen.
        wrong = (f"{'.'.join(map(str, one['loc'][1:]))[:80]}: {one['msg']}" for one in error.errors)
        return problem(422, _("Put this right: %(wrong)s.") % {"wrong": "; ".join(wrong)})
    if isinstance(error, BadChatId | Invalid):
        return problem(400, str(error))
    if isinstance(error, HttpError):
        missing = error.status_code == HTTPStatus.UNAUTHORIZED
        return problem(
            error.status_code,
            _("Send “Authorization: Bearer …” with an API token.") if missing else str(error),
        )
    if isinstance(error, Http404):
        return problem(404, _("There is nothing at this address."))
    if isinstance(error, DatabaseError | InterfaceError):
        log.error("a call failed", extra={"why": str(error).partition("\n")[0]})
        said = _("The database does not answer as it should. Nothing was kept: send it again.")
        return problem(503, said, after=5)
    log.error("a call failed", exc_info=error)
    return problem(500, _("Something went wrong inside Keno. Its log says what."))


for kind in (Refused, ValidationError, BadChatId, Invalid, HttpError, Http404, Exception):
    api.add_exception_handler(kind, lambda request, error: explain(error))


def _endpoint(operation: Operation) -> Callable:
    """The view of one operation, with the parameters that ninja reads and documents."""
    fields = operation.takes.model_fields
    in_path = [name for name in fields if f"{{{name}}}" in operation.path]
    rest = [name for name in fields if name not in in_path and name != "version"]

    def view(request: HttpRequest, **given: Any) -> Any:
        values = {name: given[name] for name in in_path}
        asked = given.get("asked")
        values |= asked.model_dump(exclude_unset=True) if asked else {}
        if given.get("if_match"):
            values["version"] = given["if_match"].strip('" W/')
        once = given.get("idempotency_key", "")
        done = perform(operation, request.auth, _read(operation, values), once=once)
        return done if operation.gives is None else _answer(operation, done)

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


def _read(operation: Operation, given: dict[str, Any]) -> BaseModel:
    try:
        return operation.takes.model_validate(given)
    except PydanticError as bad:
        wrong: Any = [one | {"loc": ("", *one["loc"])} for one in bad.errors()]
        raise ValidationError(wrong) from None


def _signature(parameters: dict) -> inspect.Signature:
    kinds = {"kind": inspect.Parameter.KEYWORD_ONLY}
    found = [inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for name, (annotation, default) in parameters.items():
        found.append(inspect.Parameter(name, annotation=annotation, default=default, **kinds))
    return inspect.Signature(found)


def _part(takes: type[BaseModel], names: list[str]) -> type[BaseModel]:
    """The shape without what stands in the path and in headers."""
    if len(names) == len(takes.model_fields):
        return takes
    fields = {
        name: (takes.model_fields[name].annotation, takes.model_fields[name]) for name in names
    }
    return create_model(f"{takes.__name__}Body", __base__=shapes.Asked, **fields)


def _answer(operation: Operation, done: BaseModel) -> HttpResponse:
    status = 201 if getattr(done, "outcome", "") == "new" else operation.status
    waits = getattr(done, "outcome", "") == "proposed" or getattr(done, "status", "") == "accepted"
    status = 202 if waits and operation.writes else status
    response = JsonResponse(done.model_dump(mode="json"), status=status)
    if version := getattr(done, "version", "") if operation.name != "me" else "":
        response["ETag"] = f'"{version}"'
    return response


def _register(operation: Operation) -> None:
    view = _endpoint(operation)
    if operation.gives is None:
        view = _as_file(view)
    statuses = (200, 201, 202) if operation.writes else (200,)
    gives = dict.fromkeys(statuses, operation.gives or bytes)
    said = {"requestBody": {"content": {"application/json": {"example": operation.example}}}}
    api.api_operation(
        [operation.method],
        operation.path,
        response=gives | dict.fromkeys(REFUSALS, Problem),
        operation_id=operation.name,
        summary=operation.title,
        description=f"{operation.description} Needs the right `{operation.scope}`"
        f"{' and `private`' if operation.private else ''}.".strip(),
        tags=[operation.path.split("/")[1]],
        openapi_extra=said if operation.example else None,
        url_name=operation.name,
    )(view)


def _as_file(view: Callable) -> Callable:
    def send(request: HttpRequest, **given: Any) -> FileResponse:
        file, name, kind = view(request, **given)
        return FileResponse(file, as_attachment=True, filename=name, content_type=kind)

    send.__name__, send.__signature__ = view.__name__, view.__signature__
    return send


for _operation in OPERATIONS.values():
    _register(_operation)


def urls() -> list:
    """The addresses of the API: each for programs with a token, the documents for everybody."""
    patterns, _app, _space = api.urls
    for pattern in patterns:
        if pattern.name == "api-root":
            pattern.callback = public(index)
        elif not pattern.name.startswith("openapi"):
            pattern.callback = with_token(pattern.callback)
    return patterns


def index(request: HttpRequest) -> JsonResponse:
    """Who answers here, and where it is described."""
    where = {"docs": "/api/v1/docs", "openapi": "/api/v1/openapi.json", "mcp": "/mcp"}
    return JsonResponse({"name": "Keno", "version": settings.VERSION} | where)


def key_of(request: HttpRequest, *kinds: str) -> str:
    """The key in the Authorization header; other clients name its kind otherwise."""
    kind, _space, key = request.headers.get("Authorization", "").partition(" ")
    return key.strip() if kind.lower() in ("bearer", *kinds) else ""


def alias(method: str, name: str) -> Callable:
    """An operation at an address that other documents name; what it takes is in the query."""
    operation = OPERATIONS[name]

    def view(request: HttpRequest) -> HttpResponse:
        given = {
            field: request.GET[field]
            for field in operation.takes.model_fields
            if field in request.GET
        }
        try:
            if not key_of(request):
                raise HttpError(401, "")
            if request.method != method:
                raise HttpError(405, _("Send a %(method)s.") % {"method": method})
            done = perform(operation, key_of(request), _read(operation, given))
            return _answer(operation, done)
        except Exception as error:
            return explain(error)

    return csrf_exempt(with_token(view))


@csrf_exempt
@with_token
def over_mcp(request: HttpRequest) -> HttpResponse:
    """The operations for agents, over streamable HTTP."""
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
    # Imported here: its library takes a quarter of the start, and most homes have no agent.
    from kenoweb.api import server

    return server.exchange(key, request)
