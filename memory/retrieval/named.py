"""What the parts of a score are called when people read them."""

from django.utils.translation import gettext_lazy

FEATURES = {
    "semantic": gettext_lazy("meaning"),
    "around": gettext_lazy("turns beside"),
    "topic": gettext_lazy("topic"),
    "words": gettext_lazy("words"),
    "lexical": gettext_lazy("words"),
    "alike": gettext_lazy("similar words"),
    "nearby": gettext_lazy("near by"),
    "episode": gettext_lazy("episode"),
    "date": gettext_lazy("date"),
    "when": gettext_lazy("says when"),
    "recency": gettext_lazy("recency"),
    "confidence": gettext_lazy("confidence"),
    "trust": gettext_lazy("who said it"),
    "usage": gettext_lazy("used before"),
    "pin": gettext_lazy("pinned"),
    "length": gettext_lazy("length"),
    "question": gettext_lazy("a question"),
    "speaker": gettext_lazy("person"),
    "channel": gettext_lazy("same chat"),
}
