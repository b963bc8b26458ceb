"""URLs of working notes, rulings, quarantine and trash, under /s/<space>/."""

from django.urls import include, path

from kenoweb.curation import quarantine, rulings, trash, working_notes

working_urls = (
    [
        path("", working_notes.index, name="index"),
        path("<int:pk>/", working_notes.detail, name="detail"),
        path("<int:pk>/revise/", working_notes.revise, name="revise"),
        path("<int:pk>/clear/", working_notes.clear, name="clear"),
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
        path("empty/", trash.empty_trash, name="empty"),
    ],
    "trash",
)

urlpatterns = [
    path("working/", include(working_urls)),
    path("rulings/", include(ruling_urls)),
    path("quarantine/", include(quarantine_urls)),
    path("trash/", include(trash_urls)),
]
