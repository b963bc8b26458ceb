"""Every URL, a list per room. The pages of a space are under /s/<space>/<noun>/."""

from django.urls import include, path

from kenoweb.chats import urls as chats
from kenoweb.membership import urls as membership
from kenoweb.operations import urls as operations
from kenoweb.ui import urls as ui

handler500 = "kenoweb.ui.views.broken"

in_space = [
    *operations.in_space,
    *ui.in_space,
    path("facts/", include("kenoweb.facts.urls")),
    path("people/", include("kenoweb.people.urls")),
    path("episodes/", include("kenoweb.episodes.urls")),
    path("patterns/", include("kenoweb.patterns.urls")),
    path("", include("kenoweb.curation.urls")),
    *chats.in_space,
    path("identity/", include("kenoweb.identity.urls")),
    *membership.in_space,
    path("", include("kenoweb.nights.urls")),
    path("", include("kenoweb.recall.urls")),
    path("transfer/", include("kenoweb.transfer.urls")),
]

urlpatterns = [
    *ui.urlpatterns,
    *operations.urlpatterns,
    *membership.urlpatterns,
    *chats.urlpatterns,
    path("s/<slug:space>/", include(in_space)),
]
