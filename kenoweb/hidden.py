"""Characters that reorder or hide text: shown, so that a reader sees what was really said."""

import re

HIDDEN = re.compile("[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


def code(sign: str) -> str:
    return f"U+{ord(sign):04X}"
