"""URLs under /s/<space>/episodes/."""

from django.urls import path

from kenoweb.episodes import views

app_name = "episodes"
urlpatterns = [
    path("", views.index, name="index"),
    path("bulk/", views.bulk, name="bulk"),
    path("<int:pk>/", views.detail, name="detail"),
    path("<int:pk>/markdown/", views.markdown, name="markdown"),
    path("<int:pk>/revise/", views.revise, name="revise"),
    path("<int:pk>/discard/", views.discard, name="discard"),
    path("<int:pk>/restore/", views.restore, name="restore"),
    path("<int:pk>/rate/", views.rate, name="rate"),
    path("<int:pk>/split/", views.split, name="split"),
    path("<int:pk>/purge/", views.purge, name="purge"),
]
