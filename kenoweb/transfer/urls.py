"""URLs under /s/<space>/transfer/."""

from django.urls import path

from kenoweb.transfer import views

app_name = "transfer"
urlpatterns = [
    path("", views.index, name="index"),
    path("keep/", views.keep, name="keep"),
    path("export/", views.export, name="export"),
    path("<int:pk>/", views.detail, name="detail"),
    path("<int:pk>/look/", views.look, name="look"),
    path("<int:pk>/apply/", views.apply, name="apply"),
    path("<int:pk>/download/", views.download, name="download"),
    path("<int:pk>/discard/", views.discard, name="discard"),
    path("undo/<int:pk>/", views.undo, name="undo"),
    path("learn/<int:pk>/", views.learn, name="learn"),
    path("unlearn/<int:pk>/", views.unlearn, name="unlearn"),
]
