"""URLs under /s/<space>/patterns/."""

from django.urls import path

from kenoweb.patterns import views

app_name = "patterns"
urlpatterns = [
    path("", views.index, name="index"),
    path("new/", views.new, name="new"),
    path("learn/", views.learn, name="learn"),
    path("<int:pk>/", views.detail, name="detail"),
    path("<int:pk>/revise/", views.revise, name="revise"),
    path("<int:pk>/archive/", views.archive, name="archive"),
    path("<int:pk>/restore/", views.restore, name="restore"),
    path("<int:pk>/discard/", views.discard, name="discard"),
    path("<int:pk>/promote/", views.promote, name="promote"),
    path("<int:pk>/release/", views.release, name="release"),
    path("<int:pk>/purge/", views.purge, name="purge"),
]
