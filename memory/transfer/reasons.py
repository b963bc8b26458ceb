"""Why something is not imported, in sentences that a person can act on."""

from django.utils.translation import gettext_lazy as _

REASONS = {
    # Marks of the format, not memories.
    "heading": _("A heading: it says what the lines below it are about."),
    "rule": _("A line that only separates."),
    "comment": _("A comment of the template."),
    "front matter": _("Data about what stands below it."),
    "placeholder": _("A placeholder that nobody has filled in."),
    # Files that are not memory.
    "bootstrap": _("Instructions for KenoBot's first conversation; Keno has its own."),
    "bootstrap state": _("KenoBot's place in its first conversation, nothing that was said."),
    "vectors": _("Vectors of another model; Keno computes its own."),
    "settings": _("Settings and keys of KenoBot; they do not belong in a memory."),
    "logs": _("Technical logs, not memories."),
    "scheduler": _("Timers of KenoBot; Keno does not send messages by the clock."),
    "suggestions": _("KenoBot's suggestions about its own settings; read them in the file."),
    "signals": _("Technical signals and task logs, not memories."),
    "process": _("The mark of a running program."),
    "backups": _("A backup. Unpack it and import it by itself if you want it."),
    "thrown away": _("KenoBot had already put this away."),
    "old identity": _("An identity from before the three layers. Copy what you want to keep."),
    "system file": _("A file of the operating system."),
    "unknown": _("Keno does not know this file."),
    "empty file": _("The file is empty."),
    "older copy": _("Another file of the same chat is newer."),
    "action log": _("The log of what the bot did and what it cost, not a memory."),
    "other table": _("A table that holds no memories."),
    "snapshot": _("A snapshot for people; its facts are in the database."),
    "write-ahead": _("Clanker was running: stop it first, or its newest rows are missing."),
    "media": _("A picture or another attachment; Keno keeps words."),
    "account": _("Data about the account, not a memory."),
    "page": _("The same conversations as a web page."),
    # Things that cannot be read.
    "broken JSON": _("This is not valid JSON."),
    "corrupt line": _("The line is damaged."),
    "line too long": _("The line is too long to be a message."),
    "no list": _("There is no list of patterns in it."),
    "no day": _("The file name is no day of the calendar."),
    "not a pattern": _("This is not a pattern."),
    "half a pattern": _("A pattern needs a trigger and a response."),
    "no rules": _("There are no rules in it."),
    "empty rule": _("The rule says nothing."),
    "unknown field": _("Keno does not know this field."),
    "not a message": _("This is not a message."),
    "unknown role": _("Nobody that Keno knows said this (a tool, for example)."),
    "empty message": _("The message has no words."),
    "not a memory": _("There is no text in it."),
    "chat key": _("The name of the chat holds signs that a chat's name cannot have."),
    "no guild": _("It belongs to no server."),
    "other guild": _("It belongs to another server; import that into its own space."),
    "other branch": _("An earlier version of a message that was edited or asked again."),
    "in the database": _("The messages of this channel are in the database already."),
    "switched off": _("It was switched off where it comes from."),
    "hidden": _("A hidden message between the parts of the assistant."),
    # Decided by what is in the space already.
    "known": _("Keno knows it already."),
    "put away": _("It was forgotten here. Restore it if you want it back."),
    "superseded": _("A newer fact took its place here."),
    "ruling": _("A ruling says never to remember this."),
    "own identity": _("The space has an identity of its own; it was not replaced."),
    "own rule": _("The space has a rule of that name; it was not replaced."),
    "own preference": _("The space has a preference of that name; it was not replaced."),
    "needs a person": _("Only a person decides who Keno is and which rules it has."),
    "own context": _("The chat has a description of its own; it was not replaced."),
    "newer note": _("The chat has a newer working note."),
    "twice": _("It stands in the import twice."),
    "nothing left": _("Nothing is left of it once it is cleaned."),
    # Rows of an archive.
    "bad row": _("The row is damaged."),
    "no chat": _("Its chat is missing from the archive."),
}


def sentence(reason: str) -> str:
    return str(REASONS.get(reason, reason))
