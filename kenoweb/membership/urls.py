"""URLs of accounts, one-time links and spaces; members and tokens under /s/<space>/."""

from django.urls import include, path

from kenoweb.membership import views

account_urls = (
    [
        path("sign-in/", views.sign_in, name="sign_in"),
        path("sign-out/", views.sign_out, name="sign_out"),
        path("account/", views.index, name="index"),
        path("account/password/", views.password, name="password"),
        path("account/sudo/", views.sudo, name="sudo"),
        path(
            "account/sign-out-everywhere/",
            views.sign_out_everywhere,
            name="sign_out_everywhere",
        ),
    ],
    "account",
)

link_urls = (
    [
        path("setup/<str:token>/", views.setup, name="setup"),
        path("enter/<str:token>/", views.enter, name="enter"),
        path("join/<str:token>/", views.join, name="join"),
    ],
    "links",
)

space_urls = (
    [
        path("spaces/", views.space_list, name="index"),
        path("spaces/new/", views.new, name="new"),
        path("spaces/demo/", views.make_demo, name="make_demo"),
        path("s/<slug:space>/settings/", views.edit, name="edit"),
    ],
    "spaces",
)

member_urls = (
    [
        path("", views.member_list, name="index"),
        path("invite/", views.invite, name="invite"),
        path("leave/", views.leave, name="leave"),
        path("<int:pk>/role/", views.change_role, name="change_role"),
        path("<int:pk>/remove/", views.remove, name="remove"),
        path("undo/<int:pk>/", views.undo, name="undo"),
        path("invitations/<int:pk>/withdraw/", views.withdraw, name="withdraw"),
    ],
    "members",
)

token_urls = (
    [
        path("", views.token_list, name="index"),
        path("new/", views.new_token, name="new"),
        path("<int:pk>/revoke/", views.revoke, name="revoke"),
    ],
    "tokens",
)

in_space = [
    path("members/", include(member_urls)),
    path("tokens/", include(token_urls)),
]
urlpatterns = [
    path("", include(account_urls)),
    path("", include(link_urls)),
    path("", include(space_urls)),
]
