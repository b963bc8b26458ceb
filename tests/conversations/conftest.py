from tests.bot.conftest import chat, fake, llm, space  # noqa: F401
