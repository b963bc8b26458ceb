"""URLs of chats under /s/<space>/, and of the chats that an account is linked to."""

from django.urls import include, path

from kenoweb.chats import link_views, views

chat_urls = (
    [
        path("", views.index, name="index"),
        path("new/", views.new, name="new"),
        path("begin/", views.begin, name="begin"),
        path("<int:pk>/", views.detail, name="detail"),
        path("<int:pk>/say/", views.say, name="say"),
        path("<int:pk>/waiting/", views.waiting, name="waiting"),
        path("<int:pk>/facts/", views.facts, name="facts"),
        path("<int:pk>/about/", views.about, name="about"),
        path("<int:pk>/revise/", views.revise, name="revise"),
        path("<int:pk>/unlearn/<int:fact>/", views.unlearn, name="unlearn"),
        path("<int:pk>/offer/<int:message>/<int:place>/save/", views.save_offer, name="save_offer"),
        path(
            "<int:pk>/offer/<int:message>/<int:place>/decline/",
            views.decline_offer,
            name="decline_offer",
        ),
        path(
            "<int:pk>/offer/<int:message>/<int:place>/again/", views.offer_again, name="offer_again"
        ),
        path("<int:pk>/relearn/<int:fact>/", views.relearn, name="relearn"),
    ],
    "chats",
)

chat_link_urls = (
    [
        path("account/chats/", link_views.offer, name="offer"),
        path("account/chats/<int:pk>/unlink/", link_views.unlink, name="unlink"),
    ],
    "chat_links",
)

in_space = [path("chats/", include(chat_urls))]
urlpatterns = [path("", include(chat_link_urls))]
