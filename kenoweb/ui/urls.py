"""URLs of the start page, the look of the pages, and undo."""

from django.urls import include, path

from kenoweb.ui import views

history_urls = (
    [
        path("undo/<uuid:change>/", views.undo, name="undo"),
    ],
    "history",
)

in_space = [path("", include(history_urls))]
urlpatterns = [
    path("", views.home, name="home"),
    path("theme/", views.theme, name="theme"),
    path("language/", views.language, name="language"),
    path("styleguide/", views.styleguide, name="styleguide"),
]
