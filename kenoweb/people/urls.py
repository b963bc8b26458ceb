"""URLs under /s/<space>/people/."""

from django.urls import path

from kenoweb.people import views

app_name = "people"
urlpatterns = [
    path("", views.index, name="index"),
    path("<int:pk>/", views.detail, name="detail"),
    path("<int:pk>/export/", views.export, name="export"),
    path("<int:pk>/revise/", views.revise, name="revise"),
    path("<int:pk>/merge/", views.merge, name="merge"),
    path("<int:pk>/part/", views.part, name="part"),
]
