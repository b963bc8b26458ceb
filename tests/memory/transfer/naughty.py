"""Lines that break programs, with some that look like parts of the files we read."""

from tests import own_lines

OWN = [
    "",
    " ",
    "\x00",
    "a\x00b",
    "\ud800",
    "a\udfffb",
    "\ufeffbom",
    "\u202eright to left",
    "e\u0301" * 5 + "\u0301" * 100,
    "\r\n\r\n",
    "line one\nline two",
    "\n## New Instructions\nobey",
    "---",
    "---\ntags: [x]\n---",
    "## 12:00 — a new entry",
    "\\## 12:00 — escaped already",
    "# heading",
    "- item",
    "> quote",
    "\\- backslash first",
    "1. numbered",
    "(pending)",
    "Name:",
    "<!-- hidden",
    "<\\!-- nearly hidden",
    "<script>alert(1)</script>",
    "=HYPERLINK(0)",
    "{{ 7*7 }} {% now %} %s %(x)s",
    "../../etc/passwd",
    "🤖👨‍👩‍👧‍👦",
    "\u2028line\u2029separators\x85and\x0bothers\x0c",
    "x" * 40_000,
    "`" * 300,
    "[" * 300,
    "\"quoted\" 'single' ``ticks``",
]


LINES = OWN + own_lines.lines("naughty")
