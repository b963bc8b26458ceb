"""Every address, grouped by noun. Pages of a space live under /s/<space>/<noun>/."""

from django.urls import include, path

from kenoweb.memory_urls import memory_urls
from kenoweb.views import (
    account,
    audit,
    chat_links,
    chats,
    costs,
    health,
    history,
    home,
    identity,
    letters,
    links,
    look,
    map,
    members,
    nights,
    notices,
    overview,
    probes,
    proposals,
    recall,
    search,
    settings,
    spaces,
    styleguide,
    tokens,
    transfer,
)

handler500 = "kenoweb.views.errors.broken"

account_urls = (
    [
        path("sign-in/", account.sign_in, name="sign_in"),
        path("sign-out/", account.sign_out, name="sign_out"),
        path("account/", account.index, name="index"),
        path("account/password/", account.password, name="password"),
        path("account/sudo/", account.sudo, name="sudo"),
        path(
            "account/sign-out-everywhere/", account.sign_out_everywhere, name="sign_out_everywhere"
        ),
    ],
    "account",
)
look_urls = [
    path("theme/", look.theme, name="theme"),
    path("language/", look.language, name="language"),
    path("styleguide/", styleguide.styleguide, name="styleguide"),
]
link_urls = (
    [
        path("setup/<str:token>/", links.setup, name="setup"),
        path("enter/<str:token>/", links.enter, name="enter"),
        path("join/<str:token>/", links.join, name="join"),
    ],
    "links",
)
space_urls = (
    [
        path("spaces/", spaces.index, name="index"),
        path("spaces/new/", spaces.new, name="new"),
        path("spaces/demo/", spaces.make_demo, name="make_demo"),
        path("s/<slug:space>/settings/", spaces.edit, name="edit"),
    ],
    "spaces",
)
overview_urls = ([path("", overview.index, name="index")], "overview")
history_urls = ([path("undo/<uuid:change>/", history.undo, name="undo")], "history")
search_urls = ([path("", search.index, name="index")], "search")
member_urls = (
    [
        path("", members.index, name="index"),
        path("invite/", members.invite, name="invite"),
        path("leave/", members.leave, name="leave"),
        path("<int:pk>/role/", members.change_role, name="change_role"),
        path("<int:pk>/remove/", members.remove, name="remove"),
        path("undo/<int:pk>/", members.undo, name="undo"),
        path("invitations/<int:pk>/withdraw/", members.withdraw, name="withdraw"),
    ],
    "members",
)
chat_link_urls = (
    [
        path("account/chats/", chat_links.offer, name="offer"),
        path("account/chats/<int:pk>/unlink/", chat_links.unlink, name="unlink"),
    ],
    "chat_links",
)
token_urls = (
    [
        path("", tokens.index, name="index"),
        path("new/", tokens.new, name="new"),
        path("<int:pk>/revoke/", tokens.revoke, name="revoke"),
    ],
    "tokens",
)
chat_urls = (
    [
        path("", chats.index, name="index"),
        path("new/", chats.new, name="new"),
        path("begin/", chats.begin, name="begin"),
        path("<int:pk>/", chats.detail, name="detail"),
        path("<int:pk>/say/", chats.say, name="say"),
        path("<int:pk>/waiting/", chats.waiting, name="waiting"),
        path("<int:pk>/facts/", chats.facts, name="facts"),
        path("<int:pk>/about/", chats.about, name="about"),
        path("<int:pk>/revise/", chats.revise, name="revise"),
        path("<int:pk>/unlearn/<int:fact>/", chats.unlearn, name="unlearn"),
        path("<int:pk>/relearn/<int:fact>/", chats.relearn, name="relearn"),
    ],
    "chats",
)

proposal_urls = (
    [
        path("", proposals.index, name="index"),
        path("approve-all/", proposals.approve_all, name="approve_all"),
        path("reject-all/", proposals.reject_all, name="reject_all"),
        path("<int:pk>/", proposals.detail, name="detail"),
        path("<int:pk>/approve/", proposals.approve, name="approve"),
        path("<int:pk>/reject/", proposals.reject, name="reject"),
        path("<int:pk>/edit/", proposals.edit, name="edit"),
        path("<int:pk>/rebase/", proposals.rebase, name="rebase"),
        path("<int:pk>/undo/", proposals.undo, name="undo"),
    ],
    "proposals",
)
night_urls = (
    [
        path("", nights.index, name="index"),
        path("run/", nights.run, name="run"),
        path("progress/", nights.progress, name="progress"),
        path("<int:pk>/", nights.detail, name="detail"),
        path("<int:pk>/undo/", nights.undo, name="undo"),
        path("changes/<int:pk>/undo/", nights.undo_change, name="undo_change"),
        path("changes/<int:pk>/redo/", nights.redo_change, name="redo_change"),
    ],
    "nights",
)
cost_urls = ([path("", costs.index, name="index")], "costs")
health_urls = ([path("", health.index, name="index")], "health")
notice_urls = (
    [
        path("", notices.index, name="index"),
        path("see-all/", notices.see_all, name="see_all"),
        path("<int:pk>/see/", notices.see, name="see"),
        path("<int:pk>/unsee/", notices.unsee, name="unsee"),
    ],
    "notices",
)
letter_urls = (
    [
        path("", letters.index, name="index"),
        path("<int:pk>/retry/", letters.retry, name="retry"),
        path("<int:pk>/discard/", letters.discard, name="discard"),
        path("<int:pk>/restore/", letters.restore, name="restore"),
    ],
    "letters",
)
settings_urls = ([path("", settings.index, name="index")], "settings")
audit_urls = ([path("", audit.index, name="index")], "audit")
identity_urls = (
    [
        path("", identity.index, name="index"),
        path("prompt/", identity.as_prompt, name="as_prompt"),
        path("edit/", identity.edit, name="edit"),
        path("rule/", identity.rule, name="rule"),
        path("rule/retire/", identity.retire, name="retire"),
        path("preference/", identity.prefer, name="prefer"),
        path("talk/end/", identity.end_talk, name="end_talk"),
        path("preference/<int:pk>/drop/", identity.drop, name="drop"),
    ],
    "identity",
)

recall_urls = (
    [
        path("recall/", recall.lab, name="lab"),
        path("recall/save/", recall.save, name="save"),
        path("recall/choose/", recall.choose, name="choose"),
        path("receipts/", recall.receipts, name="receipts"),
        path("receipts/<int:pk>/", recall.receipt, name="receipt"),
    ],
    "recall",
)

map_urls = (
    [path("", map.index, name="index"), path("points/", map.points, name="points")],
    "map",
)

transfer_urls = (
    [
        path("", transfer.index, name="index"),
        path("keep/", transfer.keep, name="keep"),
        path("export/", transfer.export, name="export"),
        path("<int:pk>/", transfer.detail, name="detail"),
        path("<int:pk>/look/", transfer.look, name="look"),
        path("<int:pk>/apply/", transfer.apply, name="apply"),
        path("<int:pk>/download/", transfer.download, name="download"),
        path("<int:pk>/discard/", transfer.discard, name="discard"),
        path("undo/<int:pk>/", transfer.undo, name="undo"),
    ],
    "transfer",
)

# The pages of one space, a list per noun: /s/<space>/<noun>/…
in_space_urls = [
    path("", include(overview_urls)),
    path("", include(history_urls)),
    path("search/", include(search_urls)),
    *memory_urls,
    path("chats/", include(chat_urls)),
    path("costs/", include(cost_urls)),
    path("health/", include(health_urls)),
    path("notices/", include(notice_urls)),
    path("dead-letters/", include(letter_urls)),
    path("audit/", include(audit_urls)),
    path("memory-settings/", include(settings_urls)),
    path("identity/", include(identity_urls)),
    path("members/", include(member_urls)),
    path("tokens/", include(token_urls)),
    path("proposals/", include(proposal_urls)),
    path("nights/", include(night_urls)),
    path("", include(recall_urls)),
    path("map/", include(map_urls)),
    path("transfer/", include(transfer_urls)),
]

probe_urls = (
    [
        path("healthz", probes.healthz, name="healthz"),
        path("readyz", probes.readyz, name="readyz"),
        path("metrics", probes.metrics, name="metrics"),
    ],
    "probes",
)

urlpatterns = [
    path("", home.home, name="home"),
    *look_urls,
    path("", include(probe_urls)),
    path("", include(account_urls)),
    path("", include(chat_link_urls)),
    path("", include(link_urls)),
    path("", include(space_urls)),
    path("s/<slug:space>/", include(in_space_urls)),
]
