"""URLs under /s/<space>/facts/."""

from django.urls import path

from kenoweb.facts import views

app_name = "facts"
urlpatterns = [
    path("", views.index, name="index"),
    path("new/", views.new, name="new"),
    path("remember/", views.remember, name="remember"),
    path("bulk/", views.bulk, name="bulk"),
    path("markdown/", views.markdown_list, name="markdown_list"),
    path("<int:pk>/", views.detail, name="detail"),
    path("<int:pk>/markdown/", views.markdown, name="markdown"),
    path("<int:pk>/revise/", views.revise, name="revise"),
    path("<int:pk>/forget/", views.forget, name="forget"),
    path("<int:pk>/restore/", views.restore, name="restore"),
    path("<int:pk>/pin/", views.pin, name="pin"),
    path("<int:pk>/unpin/", views.unpin, name="unpin"),
    path("<int:pk>/discard/", views.discard, name="discard"),
    path("<int:pk>/deprecate/", views.deprecate, name="deprecate"),
    path("<int:pk>/promote/", views.promote, name="promote"),
    path("<int:pk>/quarantine/", views.quarantine, name="quarantine"),
    path("<int:pk>/release/", views.release, name="release"),
    path("<int:pk>/never/", views.never, name="never"),
    path("<int:pk>/keep/", views.keep, name="keep"),
    path("<int:pk>/merge/", views.merge, name="merge"),
    path("<int:pk>/purge/", views.purge, name="purge"),
]
