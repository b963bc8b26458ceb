"""Hostile, broken, secret and ordinary lines of our own, so that no test waits for a corpus."""

import json
import shutil
from pathlib import Path

from bench import corpora
from bench.corpora import Row

DATA = Path(__file__).parent / "data"
LONG = ["a" * 5000, "ñ" * 40000, "word " * 2000]
WORD = "hun" + "ter" + "22"
# Every value is put together here, so that no scanner takes this file for a leak.
SECRETS = [
    "The router password is " + WORD,
    "la contraseña del wifi es " + WORD,
    "I changed the password to " + WORD,
    "postgres://keno:" + WORD + "@localhost/db",
    "curl -u elastic:" + WORD + " https://localhost:9200",
    "password=" + WORD,
    "PIN for the alarm: " + "44" + "71",
    "el código de la alarma es " + "44" + "71",
    "My bank card is " + "4111" + " 1111" * 3,
    "SSN: " + "123-45-" + "6789",
    "IBAN " + "ES91 2100 0418 " + "4502 0005 1332",
    "save this: " + "sk-" + "proj-" + "Ab1" * 14,
    "guarda esto: " + "ghp" + "_" + "a1B2" * 9,
    "aws_access_key_id=" + "AKIA" + "IOSFODNN7" + "EXAMPLE",
    "el bot usa " + "110201543" + ":AA" + "HdqTcvCH1vGWJxfSe1ofSAs0K5PALDsaw",
    "Authorization: Bearer " + "eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "s1gn" * 7,
    "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEpAIB\nAAKCAQEA\n-----END RSA PRIVATE KEY-----",
    "recovery phrase: legal winner thank year wave sausage" + " worth useful legal winner"
    " thank yellow",
    "the thing uses " + "a8F3kd93" + "KdLs02mZq7" + " somewhere",
    "mi contraseña es " + "cara" + "cola",
]  # fmt: skip


def rows(name: str) -> list[Row]:
    """Return the rows of one kind: injection_attacks, benign, naughty, xss or secrets."""
    if name == "secrets":
        return [Row(text, "secret", "mul", "own lines", False) for text in SECRETS]
    found = corpora.read(DATA, name)
    if name == "naughty":
        found += [Row(text, "naughty", "mul", "own lines", False) for text in LONG]
    return found


def lines(name: str) -> list[str]:
    return [row.text for row in rows(name)]


def as_folder(folder: Path) -> Path:
    """Write all of them as the folder of files that the benchmarks read."""
    shutil.copytree(DATA, folder, dirs_exist_ok=True)
    made = [
        {"text": text, "kind": "secret", "lang": "mul", "source": "own lines"} for text in SECRETS
    ]
    (folder / "secrets.jsonl").write_text("\n".join(map(json.dumps, made)) + "\n")
    return folder
