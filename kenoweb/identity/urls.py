"""URLs under /s/<space>/identity/."""

from django.urls import path

from kenoweb.identity import views

app_name = "identity"
urlpatterns = [
    path("", views.index, name="index"),
    path("prompt/", views.as_prompt, name="as_prompt"),
    path("edit/", views.edit, name="edit"),
    path("rule/", views.rule, name="rule"),
    path("rule/retire/", views.retire, name="retire"),
    path("preference/", views.prefer, name="prefer"),
    path("talk/end/", views.end_talk, name="end_talk"),
    path("preference/<int:pk>/drop/", views.drop, name="drop"),
]
