"""Secrets never reach anything durable; what people say about secrets does."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.guards import inspect as guards
from tests import own_lines

# Put together here, so that no scanner takes this file for a leak.
WORD = "hun" + "ter" + "22"
OPENAI = "sk-" + "proj-" + "Ab1" * 14
GITHUB = "ghp" + "_" + "a1B2" * 9
AWS = "AKIA" + "IOSFODNN7" + "EXAMPLE"
JWT = "eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "s1gnature" * 3
SEED = "legal winner thank year wave sausage worth useful legal winner thank yellow"
CARD = "4111" + " 1111" * 3
TELEGRAM = "110201543" + ":AA" + "HdqTcvCH1vGWJxfSe1ofSAs0K5PALDsaw"
KEY_BLOCK = (
    "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEpAIB\nAAKCAQEA\n-----END RSA PRIVATE KEY-----"
)


@pytest.mark.parametrize(
    ("secret", "kind", "text"),
    [
        (WORD, "password", "Adrian's router password is {}"),
        (WORD, "password", "la contraseña del wifi es {}."),
        (WORD, "password", "I changed the password to {}!"),
        (WORD, "password", "{} is my password for the NAS"),
        (WORD, "password", "postgres://keno:{}@localhost/db"),
        (WORD, "password", "curl -u elastic:{} https://localhost:9200"),
        (WORD, "password", '<add key="Password" value="{}" />'),
        ("caracola", "password", "Mi contraseña es {}"),
        ("4471", "pin", "PIN for the alarm: {}"),
        ("4471", "pin", "el código de la alarma es {}"),
        ("123", "pin", "exp 12/28, cvv {}"),
        (CARD, "card", "My bank card is {}, exp 12/28"),
        ("123-45-" + "6789", "ssn", "SSN: {}"),
        ("ES91 2100 0418 4502 0005 1332", "iban", "IBAN {}"),
        (OPENAI, "token", "save this: {}"),
        (GITHUB, "token", "guarda esto: {}"),
        (AWS, "token", "aws_access_key_id={}"),
        (TELEGRAM, "token", "el bot usa {}"),
        (JWT, "jwt", "Authorization: Bearer {}"),
        (KEY_BLOCK, "private_key", "my key:\n{}\nthanks"),
        ("a8F3kd93KdLs02mZq7", "key", "the thing uses {} somewhere"),
        (SEED, "seed_phrase", "recovery phrase: {}"),
        (SEED, "seed_phrase", "{}"),
        ("GOMC850312HDFN" + "RL0" + "0", "national_id", "Mi CURP es {}"),
        ("1234" + "5678Z", "national_id", "El DNI de Ana es {}."),
        ("1234" + "5678-z", "national_id", "dni {}"),
        ("X123" + "4567L", "national_id", "NIE: {}"),
        ("9174#", "pin", "The gate opens with code {}"),
        ("2580", "pin", "El portal se abre con el código {}"),
        ("4471#", "pin", "la puerta del garaje se abre con el {}"),
        ("Casa" + "2020x", "password", "Netflix: ana@mail.example / {}"),
    ],
)  # fmt: skip
def test_t10_a_secret_is_replaced_by_its_kind(secret, kind, text):
    clean, kinds = guards.redact(text.format(secret))
    assert secret not in clean
    assert kinds
    assert clean == text.format(f"[redacted:{kind}]") or kind not in kinds


@pytest.mark.parametrize(
    "text",
    [
        "The password is required.",
        "La contraseña es obligatoria",
        "Uses a password manager called KeePass",
        "The token expires in an hour",
        "the key is under the mat",
        "la clave del éxito es la constancia",
        "password must have 12 characters",
        "Flight code: IB3456",
        "call me at 555-123-4567",
        "pin 3 of the connector",
        "commit 3f2a9c1d4e5b6a7f8c9d0e1f2a3b4c5d6e7f8a9b",
        "see https://example.com/watch?v=dQw4w9WgXcQabcdef",
        "Released on 2024-01-15T14:30:00Z, version 1.2.3-beta4",
        "The path is /srv/keno/static/css/tokens.css",
        "order number 12345678",
        "secret santa is on Friday",
        "el código postal es 28013",
        "Her user name is ana_maria_lopez",
        "api_key = ${KENO_API_KEY}",
        "El DNI 12345678A no existe: la letra está mal",
        "My phone's IMEI is 356938035643809",
        "Her password manager is KeePass and she likes it",
        "the door opens with a squeak since 2019",
        "rice beans corn squash pepper onion garlic tomato lemon basil thyme",
        "write to ana@mail.example / call 600 111 222",
    ],
)
def test_what_is_said_about_a_secret_stays(text):
    assert guards.redact(text) == (text, ())


def test_t10_our_lines_with_secrets_meet_the_promise():
    secrets = own_lines.rows("secrets")
    assert sum(bool(guards.redact(r.text)[1]) for r in secrets) >= 0.95 * len(secrets)
    assert sum(bool(guards.redact(r.text)[1]) for r in secrets if r.unseen) >= 0.95 * sum(
        r.unseen for r in secrets
    )
    benign = own_lines.rows("benign")
    assert sum(bool(guards.redact(r.text)[1]) for r in benign) <= 0.005 * len(benign)


@given(st.text(st.characters(codec=None), max_size=300))
@settings(max_examples=150)
def test_redacting_twice_changes_nothing(text):
    once, _ = guards.redact(f"{text} password is {WORD} {text}")
    assert WORD not in once
    assert guards.redact(once)[0] == once
