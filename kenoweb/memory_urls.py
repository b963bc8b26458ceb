"""The addresses of what Keno remembers, under /s/<space>/: a list per noun."""

from django.urls import include, path

from kenoweb.views import (
    episodes,
    facts,
    patterns,
    quarantine,
    rulings,
    trash,
    working,
)

fact_urls = (
    [
        path("", facts.index, name="index"),
        path("new/", facts.new, name="new"),
        path("remember/", facts.remember, name="remember"),
        path("bulk/", facts.bulk, name="bulk"),
        path("markdown/", facts.markdown_list, name="markdown_list"),
        path("<int:pk>/", facts.detail, name="detail"),
        path("<int:pk>/markdown/", facts.markdown, name="markdown"),
        path("<int:pk>/revise/", facts.revise, name="revise"),
        path("<int:pk>/forget/", facts.forget, name="forget"),
        path("<int:pk>/restore/", facts.restore, name="restore"),
        path("<int:pk>/pin/", facts.pin, name="pin"),
        path("<int:pk>/unpin/", facts.unpin, name="unpin"),
        path("<int:pk>/discard/", facts.discard, name="discard"),
        path("<int:pk>/deprecate/", facts.deprecate, name="deprecate"),
        path("<int:pk>/promote/", facts.promote, name="promote"),
        path("<int:pk>/quarantine/", facts.quarantine, name="quarantine"),
        path("<int:pk>/release/", facts.release, name="release"),
        path("<int:pk>/never/", facts.never, name="never"),
        path("<int:pk>/keep/", facts.keep, name="keep"),
        path("<int:pk>/merge/", facts.merge, name="merge"),
        path("<int:pk>/purge/", facts.purge, name="purge"),
    ],
    "facts",
)
episode_urls = (
    [
        path("", episodes.index, name="index"),
        path("bulk/", episodes.bulk, name="bulk"),
        path("<int:pk>/", episodes.detail, name="detail"),
        path("<int:pk>/markdown/", episodes.markdown, name="markdown"),
        path("<int:pk>/revise/", episodes.revise, name="revise"),
        path("<int:pk>/discard/", episodes.discard, name="discard"),
        path("<int:pk>/restore/", episodes.restore, name="restore"),
        path("<int:pk>/rate/", episodes.rate, name="rate"),
        path("<int:pk>/split/", episodes.split, name="split"),
        path("<int:pk>/purge/", episodes.purge, name="purge"),
    ],
    "episodes",
)
pattern_urls = (
    [
        path("", patterns.index, name="index"),
        path("new/", patterns.new, name="new"),
        path("learn/", patterns.learn, name="learn"),
        path("<int:pk>/", patterns.detail, name="detail"),
        path("<int:pk>/revise/", patterns.revise, name="revise"),
        path("<int:pk>/archive/", patterns.archive, name="archive"),
        path("<int:pk>/restore/", patterns.restore, name="restore"),
        path("<int:pk>/discard/", patterns.discard, name="discard"),
        path("<int:pk>/promote/", patterns.promote, name="promote"),
        path("<int:pk>/release/", patterns.release, name="release"),
        path("<int:pk>/purge/", patterns.purge, name="purge"),
    ],
    "patterns",
)
working_urls = (
    [
        path("", working.index, name="index"),
        path("<int:pk>/", working.detail, name="detail"),
        path("<int:pk>/revise/", working.revise, name="revise"),
        path("<int:pk>/clear/", working.clear, name="clear"),
    ],
    "working",
)
ruling_urls = (
    [
        path("", rulings.index, name="index"),
        path("add/", rulings.add, name="add"),
        path("<int:pk>/lift/", rulings.lift, name="lift"),
    ],
    "rulings",
)
quarantine_urls = (
    [
        path("", quarantine.index, name="index"),
        path("episodes/<int:pk>/release/", quarantine.release_episode, name="release_episode"),
    ],
    "quarantine",
)
trash_urls = (
    [
        path("", trash.index, name="index"),
        path("empty/", trash.empty, name="empty"),
    ],
    "trash",
)
memory_urls = [
    path("facts/", include(fact_urls)),
    path("episodes/", include(episode_urls)),
    path("patterns/", include(pattern_urls)),
    path("working/", include(working_urls)),
    path("rulings/", include(ruling_urls)),
    path("quarantine/", include(quarantine_urls)),
    path("trash/", include(trash_urls)),
]
