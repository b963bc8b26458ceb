"""The token API as an OpenAPI 3.1 document: GET /api/v1/openapi.json.

Written by hand beside api.py; a test sends every example in it and compares every answer.
"""

from django.conf import settings

from memory.spaces import api_tokens

HOME = "/api/v1"
TEXT, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
SHORT = {"type": ["string", "integer"], "maxLength": 2000}
CHAT_ID = SHORT | {"maxLength": 128, "pattern": "^[A-Za-z0-9_-]+$", "default": "main"}
DATE_TIME = {"type": "string", "format": "date-time"}
ACCEPTED = {"type": "string", "const": "accepted"}
STATUS_TEXTS = {"200": "Done.", "201": "New.", "202": "Accepted: it will be done."}


def document() -> dict:
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Keno",
            "version": settings.VERSION,
            "description": "What programs with an API token may ask. The token names the space.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": _paths(),
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": f"An API token of the dashboard: {api_tokens.PREFIX}…",
                }
            },
        },
    }


def _paths() -> dict:
    home = _public_endpoint("home", "Who answers here, and the addresses", _wrapped("Home"))
    document = _public_endpoint("openapi", "This document", {"type": "object"})
    return {
        HOME: {"get": home},
        f"{HOME}/openapi.json": {"get": document},
        f"{HOME}/messages": {
            "post": _endpoint(
                "say",
                "chat",
                "Say something and wait for the answer; with a callback, 202 at once",
                takes="Saying",
                example={"content": "What is my dog called?", "chat_id": "lab", "id": "m1"},
                gives={"200": "Reply", "202": "Taken"},
                late=True,
            ),
        },
        f"{HOME}/recall": {
            "post": _endpoint(
                "recall",
                "read",
                "What comes to mind for a question, best first",
                takes="Question",
                example={"query": "Who keeps bees?"},
                gives={"200": "Recollection"},
            ),
        },
        f"{HOME}/facts": {
            "post": _endpoint(
                "remember",
                "write",
                "Remember one fact for the whole space, past the guards and rulings",
                takes="Fact",
                example={"text": "Ana keeps bees in Soria", "subject": "Ana"},
                gives={"201": "Kept", "200": "Kept"},
            ),
        },
        f"{HOME}/nights": {
            "post": _endpoint(
                "sleep",
                "write",
                "Begin a night as soon as the worker is free; asked for twice it is one",
                takes="Nothing",
                example={},
                gives={"202": "Accepted"},
            ),
        },
    }


def _public_endpoint(name: str, summary: str, schema: dict) -> dict:
    """An address that asks for no token."""
    answers = {"200": _response("Here it is.", schema)}
    return {"operationId": name, "summary": summary, "security": [], "responses": answers}


def _endpoint(
    name: str,
    scope: str,
    summary: str,
    *,
    takes: str,
    example: dict,
    gives: dict[str, str],
    late: bool = False,
) -> dict:
    body = {"schema": _ref(takes), "example": example}
    return {
        "operationId": name,
        "summary": summary,
        "description": f"The token needs the right “{scope}”.",
        "requestBody": {
            "required": takes != "Nothing",
            "content": {"application/json": body},
        },
        "responses": {
            status: _response(STATUS_TEXTS[status], _wrapped(shape))
            for status, shape in gives.items()
        }
        | _failures(late=late),
    }


def _failures(*, late: bool) -> dict:
    refused = {
        "400": "It cannot be understood; the message says why.",
        "401": "No token, or none that may do this.",
        "429": "Too many calls, or the budget is spent. Retry-After says when to come again.",
    } | ({"504": "No answer in time. It is kept: the same id gets it later."} if late else {})
    early = {
        "413": "The body is over 1 MiB.",
        "503": "The database does not answer. Nothing was kept.",
    }
    return (
        {status: _response(why, _ref("Refusal")) for status, why in refused.items()}
        | {status: _response(why, _ref("Failure")) for status, why in early.items()}
        | {"default": _response("Anything else.", {"anyOf": [_ref("Refusal"), _ref("Failure")]})}
    )


def _schemas() -> dict:
    items = {"type": "array", "items": _ref("Memory")}
    return {
        "Home": _object(name=TEXT, version=TEXT, endpoints={"type": "array", "items": TEXT}),
        "Saying": {
            "type": "object",
            "properties": {
                "content": TEXT | {"description": "What is said; `text` means the same."},
                "text": TEXT,
                "chat_id": CHAT_ID,
                "author": SHORT | {"description": "A name to show; the token is who speaks."},
                "author_id": SHORT | {"description": "Not used: the token is who speaks."},
                "id": SHORT | {"description": "The same id again is the same message."},
                "trace": {"enum": ["text", "voice"], "default": "text"},
                "callback": SHORT | {"description": "Post the reply to this address, signed."},
            },
            "anyOf": [{"required": ["content"]}, {"required": ["text"]}],
        },
        "Question": {"type": "object", "properties": {"query": TEXT}},
        "Fact": {
            "type": "object",
            "properties": {"text": TEXT | {"minLength": 1}, "subject": TEXT},
            "required": ["text"],
        },
        "Nothing": {"description": "Whatever is sent is not read."},
        "Reply": _object(id=INTEGER, chat_id=TEXT, response=TEXT),
        "Taken": _object(id=INTEGER, chat_id=TEXT, status=ACCEPTED),
        "Accepted": _object(status=ACCEPTED),
        "Recollection": _object(
            items=items, confidence=NUMBER, level={"enum": ["none", "low", "medium", "high"]}
        ),
        "Memory": _object(
            kind={"enum": ["fact", "episode", "message"]},
            id=INTEGER,
            text=TEXT,
            at=DATE_TIME,
            score=NUMBER,
        ),
        "Kept": _object(
            id={"type": ["integer", "null"]},
            outcome={"enum": ["new", "again", "restored", "quarantined", "refused", "empty"]},
            reason=TEXT,
        ),
        "Meta": _object(request_id=TEXT, timestamp=DATE_TIME),
        "Refusal": _object(
            error=_object(code=TEXT, message=TEXT, hint=TEXT, retryable={"type": "boolean"}),
            meta=_ref("Meta"),
        ),
        "Failure": _object(error=TEXT),
    }


def _object(**properties: dict) -> dict:
    """All of these and nothing else."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _wrapped(shape: str) -> dict:
    return _object(data=_ref(shape), meta=_ref("Meta"))


def _ref(name: str) -> dict:
    return {"$ref": f"#/components/schemas/{name}"}


def _response(why: str, schema: dict) -> dict:
    return {"description": why, "content": {"application/json": {"schema": schema}}}
