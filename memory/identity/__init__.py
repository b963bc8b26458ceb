"""Identity: who Keno is in a space. It knows nothing of the memories."""

from memory.identity import bootstrap, core, preferences, rules
from memory.identity.prompt import prompt
