from importlib import import_module

from django.db import migrations

wall = import_module("memory.migrations.0029_rows_point_within_their_space")
POINTS = [
    ("claim", "chat_id", "memory_chat"),
    ("claim", "episode_id", "memory_episode"),
    ("nightchange", "night_id", "night"),
    ("proposal", "decided_by_id", "memory_member"),
    ("proposal", "night_id", "night"),
    ("reflection", "night_id", "night"),
]


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0029_rows_point_within_their_space"),
        ("sleep", "0007_words_of_nights_can_be_encrypted"),
    ]

    operations = [*wall.indexes("sleep", ["night"]), *wall.within_space("sleep", POINTS)]
