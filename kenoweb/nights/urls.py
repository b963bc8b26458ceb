"""URLs of nights and proposals, under /s/<space>/."""

from django.urls import include, path

from kenoweb.nights import proposal_views, views

proposal_urls = (
    [
        path("", proposal_views.index, name="index"),
        path("approve-all/", proposal_views.approve_all, name="approve_all"),
        path("reject-all/", proposal_views.reject_all, name="reject_all"),
        path("<int:pk>/", proposal_views.detail, name="detail"),
        path("<int:pk>/approve/", proposal_views.approve, name="approve"),
        path("<int:pk>/reject/", proposal_views.reject, name="reject"),
        path("<int:pk>/edit/", proposal_views.edit, name="edit"),
        path("<int:pk>/rebase/", proposal_views.rebase, name="rebase"),
        path("<int:pk>/undo/", proposal_views.undo, name="undo"),
    ],
    "proposals",
)

night_urls = (
    [
        path("", views.index, name="index"),
        path("run/", views.run, name="run"),
        path("progress/", views.progress, name="progress"),
        path("<int:pk>/", views.detail, name="detail"),
        path("<int:pk>/undo/", views.undo, name="undo"),
        path("changes/<int:pk>/undo/", views.undo_change, name="undo_change"),
        path("changes/<int:pk>/redo/", views.redo_change, name="redo_change"),
    ],
    "nights",
)

urlpatterns = [
    path("proposals/", include(proposal_urls)),
    path("nights/", include(night_urls)),
]
