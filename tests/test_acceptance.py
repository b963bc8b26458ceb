"""Every acceptance case, and every threat and fault that was promised, has a test of its number."""

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parent
CASES = """
1 2 3 5 6 8 9 10 12 13 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 32 34 35 36 38 39 40 41 42 43
44 47 48 49 50 51 52 53 54 55 56 57 59 60 61 63 64 67 68 69 70 73 74 75 76 77 78 80 81 84 85 86 87
88 91 92 95 96 98 99 100 N1 N2 N3 N4 N5 N6 N7 N8 N9 N10 N11 N12 N13 N14 N15 N16
""".split()
PROMISED = "T02 T04 T06 T08 T14 T15 R01 R02 R03 R04 R05 R06 R07 R08 R09 R10 R13".split()
# test_16_…, test_23_24_…, test_a73_…, …_085(), test_n6_…, id="a9-…", "N1-nested", T-15:
BARE = re.compile(r"def test_(\d{1,3}(?:_\d{2})*)_[a-z]")
NAMED = re.compile(r"[_\"'](?:a(\d{1,3})|0([1-9]\d)|([nN]\d{1,2}))(?=[_\"'(-])")
LETTERED = re.compile(r"(?:_|\b)([tTrR])-?(\d\d)(?=_|:|,| )")


def numbers(text: str) -> set[str]:
    found = {one for many in BARE.findall(text) for one in many.split("_")}
    found |= {(a or zero or n.upper()) for a, zero, n in NAMED.findall(text)}
    found |= {letter.upper() + number for letter, number in LETTERED.findall(text)}
    return {one.lstrip("0") for one in found}


def test_every_case_has_a_test_of_its_number():
    here = Path(__file__).name
    files = [path for path in TESTS.rglob("test_*.py") if path.name != here]
    found = set().union(*(numbers(path.read_text()) for path in files))
    assert [case for case in [*CASES, *PROMISED] if case not in found] == []


def test_a_number_in_a_sentence_is_no_case():
    assert numbers("def test_list_costs_the_same_for_100_and_for_2_000(") == set()
    assert numbers("def test_it_waits_085(") == {"85"}
    assert numbers("def test_23_24_chats_never_mix(") == {"23", "24"}
    assert numbers('id="a9-no-raw-tag"') == {"9"}
    assert numbers('"""T-15: who') == {"T15"}
