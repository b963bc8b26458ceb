"""URLs of accounts, one-time links and spaces; members and tokens under /s/<space>/."""

from django.urls import include, path

from kenoweb.membership import (
    account_views,
    link_views,
    member_views,
    space_views,
    token_views,
)

account_urls = (
    [
        path("sign-in/", account_views.sign_in, name="sign_in"),
        path("sign-out/", account_views.sign_out, name="sign_out"),
        path("account/", account_views.index, name="index"),
        path("account/password/", account_views.password, name="password"),
        path("account/sudo/", account_views.sudo, name="sudo"),
        path(
            "account/sign-out-everywhere/",
            account_views.sign_out_everywhere,
            name="sign_out_everywhere",
        ),
    ],
    "account",
)

link_urls = (
    [
        path("setup/<str:token>/", link_views.setup, name="setup"),
        path("enter/<str:token>/", link_views.enter, name="enter"),
        path("join/<str:token>/", link_views.join, name="join"),
    ],
    "links",
)

space_urls = (
    [
        path("spaces/", space_views.index, name="index"),
        path("spaces/new/", space_views.new, name="new"),
        path("spaces/demo/", space_views.make_demo, name="make_demo"),
        path("s/<slug:space>/settings/", space_views.edit, name="edit"),
    ],
    "spaces",
)

member_urls = (
    [
        path("", member_views.index, name="index"),
        path("invite/", member_views.invite, name="invite"),
        path("leave/", member_views.leave, name="leave"),
        path("<int:pk>/role/", member_views.change_role, name="change_role"),
        path("<int:pk>/remove/", member_views.remove, name="remove"),
        path("undo/<int:pk>/", member_views.undo, name="undo"),
        path("invitations/<int:pk>/withdraw/", member_views.withdraw, name="withdraw"),
    ],
    "members",
)

token_urls = (
    [
        path("", token_views.index, name="index"),
        path("new/", token_views.new, name="new"),
        path("<int:pk>/revoke/", token_views.revoke, name="revoke"),
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
