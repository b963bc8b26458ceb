"""Every address and the view that answers it. The pages of a space are under /s/<space>/<noun>/."""

from django.urls import URLPattern, URLResolver, include, path

from kenoweb.api import events, gateway, mem0, oauth, rest
from kenoweb.auth.accounts import PATHS, Kind
from kenoweb.chats import views as chats
from kenoweb.connect import views as connect
from kenoweb.curation import erasing, quarantine, rulings, trash, working_notes
from kenoweb.episodes import views as episodes
from kenoweb.facts import views as facts
from kenoweb.identity import views as identity
from kenoweb.membership import account
from kenoweb.membership import views as membership
from kenoweb.nights import proposal_views as proposals
from kenoweb.nights import still_true
from kenoweb.nights import views as nights
from kenoweb.operations import audit, costs, health, notices, overview, palette, space_settings
from kenoweb.patterns import views as patterns
from kenoweb.people import views as people
from kenoweb.recall import golden
from kenoweb.recall import map as memory_map
from kenoweb.recall import views as recall
from kenoweb.transfer import views as transfer
from kenoweb.ui import views as ui

handler500 = "kenoweb.ui.views.broken"


def rooms(table: dict[tuple[str, str], list[URLPattern]]) -> list[URLResolver]:
    """Include the routes of each noun; the keys are its prefix and its namespace."""
    return [path(prefix, include((routes, name))) for (prefix, name), routes in table.items()]


SPACE_PAGES = {
    ("", "overview"): [path("", overview.index, name="index")],
    ("events/", "events"): [path("", events.for_pages, name="index")],
    ("search/", "search"): [path("", palette.index, name="index")],
    ("costs/", "costs"): [
        path("", costs.index, name="index"),
        path("facts/", costs.facts, name="facts"),
        path("calls/", costs.calls, name="calls"),
        path("calls/<int:pk>/", costs.call, name="call"),
    ],
    ("health/", "health"): [path("", health.index, name="index")],
    ("notices/", "notices"): [
        path("", notices.index, name="index"),
        path("see-all/", notices.see_all, name="see_all"),
        path("<int:pk>/see/", notices.see, name="see"),
        path("<int:pk>/unsee/", notices.unsee, name="unsee"),
    ],
    ("dead-letters/", "dead_letters"): [
        path("", health.dead_letters, name="index"),
        path("<int:pk>/retry/", health.retry, name="retry"),
        path("<int:pk>/discard/", health.discard, name="discard"),
        path("<int:pk>/restore/", health.restore, name="restore"),
    ],
    ("audit/", "audit"): [path("", audit.index, name="index")],
    ("memory-settings/", "settings"): [
        path("", space_settings.index, name="index"),
        path("encryption/", space_settings.encrypt, name="encryption"),
    ],
    ("", "history"): [path("undo/<uuid:change>/", ui.undo, name="undo")],
    ("facts/", "facts"): [
        path("", facts.index, name="index"),
        path("new/", facts.new, name="new"),
        path("remember/", facts.remember, name="remember"),
        path("bulk/", facts.bulk, name="bulk"),
        path("markdown/", facts.markdown_list, name="markdown_list"),
        path("<int:pk>/", facts.detail, name="detail"),
        path("<int:pk>/markdown/", facts.markdown, name="markdown"),
        path("<int:pk>/revise/", facts.revise, name="revise"),
        path("<int:pk>/forget/", facts.forget, name="forget"),
        path("<int:pk>/restore/", facts.restore, name="restore"),
        path("<int:pk>/pin/", facts.pin, name="pin"),
        path("<int:pk>/unpin/", facts.unpin, name="unpin"),
        path("<int:pk>/discard/", facts.discard, name="discard"),
        path("<int:pk>/deprecate/", facts.deprecate, name="deprecate"),
        path("<int:pk>/promote/", facts.promote, name="promote"),
        path("<int:pk>/quarantine/", facts.quarantine, name="quarantine"),
        path("<int:pk>/release/", facts.release, name="release"),
        path("<int:pk>/never/", facts.never, name="never"),
        path("<int:pk>/keep/", facts.keep, name="keep"),
        path("<int:pk>/dont-mention/", facts.dont_mention, name="dont_mention"),
        path("<int:pk>/impact/", facts.impact, name="impact"),
        path("<int:pk>/merge/", facts.merge, name="merge"),
        path("<int:pk>/purge/", facts.purge, name="purge"),
    ],
    ("people/", "people"): [
        path("", people.index, name="index"),
        path("graph/", people.graph, name="graph"),
        path("<int:pk>/", people.detail, name="detail"),
        path("<int:pk>/export/", people.export, name="export"),
        path("<int:pk>/revise/", people.revise, name="revise"),
        path("<int:pk>/merge/", people.merge, name="merge"),
        path("<int:pk>/part/", people.part, name="part"),
    ],
    ("episodes/", "episodes"): [
        path("", episodes.index, name="index"),
        path("bulk/", episodes.bulk, name="bulk"),
        path("<int:pk>/", episodes.detail, name="detail"),
        path("<int:pk>/markdown/", episodes.markdown, name="markdown"),
        path("<int:pk>/revise/", episodes.revise, name="revise"),
        path("<int:pk>/discard/", episodes.discard, name="discard"),
        path("<int:pk>/restore/", episodes.restore, name="restore"),
        path("<int:pk>/rate/", episodes.rate, name="rate"),
        path("<int:pk>/split/", episodes.split, name="split"),
        path("<int:pk>/purge/", episodes.purge, name="purge"),
    ],
    ("patterns/", "patterns"): [
        path("", patterns.index, name="index"),
        path("new/", patterns.new, name="new"),
        path("learn/", patterns.learn, name="learn"),
        path("<int:pk>/", patterns.detail, name="detail"),
        path("<int:pk>/revise/", patterns.revise, name="revise"),
        path("<int:pk>/archive/", patterns.archive, name="archive"),
        path("<int:pk>/restore/", patterns.restore, name="restore"),
        path("<int:pk>/discard/", patterns.discard, name="discard"),
        path("<int:pk>/promote/", patterns.promote, name="promote"),
        path("<int:pk>/release/", patterns.release, name="release"),
        path("<int:pk>/purge/", patterns.purge, name="purge"),
    ],
    ("working/", "working"): [
        path("", working_notes.index, name="index"),
        path("<int:pk>/", working_notes.detail, name="detail"),
        path("<int:pk>/revise/", working_notes.revise, name="revise"),
        path("<int:pk>/clear/", working_notes.clear, name="clear"),
    ],
    ("rulings/", "rulings"): [
        path("", rulings.index, name="index"),
        path("add/", rulings.add, name="add"),
        path("<int:pk>/lift/", rulings.lift, name="lift"),
    ],
    ("quarantine/", "quarantine"): [
        path("", quarantine.index, name="index"),
        path("episodes/<int:pk>/release/", quarantine.release_episode, name="release_episode"),
    ],
    ("trash/", "trash"): [
        path("", trash.index, name="index"),
        path("empty/", trash.empty_trash, name="empty"),
    ],
    ("erase/", "erase"): [
        path("<int:pk>/", erasing.detail, name="detail"),
        path("<int:pk>/receipt/", erasing.receipt, name="receipt"),
        path("<str:kind>/<int:pk>/", erasing.preview, name="preview"),
    ],
    ("lineage/", "lineage"): [
        path("<str:kind>/<int:pk>/", erasing.lineage_page, name="detail"),
        path("<str:kind>/<int:pk>/discard/", erasing.discard, name="discard"),
    ],
    ("chats/", "chats"): [
        path("", chats.index, name="index"),
        path("new/", chats.new, name="new"),
        path("begin/", chats.begin, name="begin"),
        path("<int:pk>/", chats.detail, name="detail"),
        path("<int:pk>/say/", chats.say, name="say"),
        path("<int:pk>/incognito/", chats.incognito, name="incognito"),
        path("<int:pk>/private/", chats.private, name="private"),
        path("<int:pk>/open/", chats.open_private, name="open"),
        path("<int:pk>/waiting/", chats.waiting, name="waiting"),
        path("<int:pk>/facts/", chats.facts, name="facts"),
        path("<int:pk>/about/", chats.about, name="about"),
        path("<int:pk>/revise/", chats.revise, name="revise"),
        path("<int:pk>/unlearn/<int:fact>/", chats.unlearn, name="unlearn"),
        path("<int:pk>/offer/<int:message>/<int:place>/save/", chats.save_offer, name="save_offer"),
        path(
            "<int:pk>/offer/<int:message>/<int:place>/decline/",
            chats.decline_offer,
            name="decline_offer",
        ),
        path(
            "<int:pk>/offer/<int:message>/<int:place>/again/", chats.offer_again, name="offer_again"
        ),
        path("<int:pk>/relearn/<int:fact>/", chats.relearn, name="relearn"),
        path("<int:pk>/wrong/<int:message>/", chats.wrong, name="wrong"),
    ],
    ("identity/", "identity"): [
        path("", identity.index, name="index"),
        path("prompt/", identity.as_prompt, name="as_prompt"),
        path("edit/", identity.edit, name="edit"),
        path("rule/", identity.rule, name="rule"),
        path("rule/retire/", identity.retire, name="retire"),
        path("preference/", identity.prefer, name="prefer"),
        path("talk/end/", identity.end_talk, name="end_talk"),
        path("preference/<int:pk>/drop/", identity.drop, name="drop"),
    ],
    ("members/", "members"): [
        path("", membership.member_list, name="index"),
        path("invite/", membership.invite, name="invite"),
        path("leave/", membership.leave, name="leave"),
        path("<int:pk>/role/", membership.change_role, name="change_role"),
        path("<int:pk>/remove/", membership.remove, name="remove"),
        path("undo/<int:pk>/", membership.undo, name="undo"),
        path("invitations/<int:pk>/withdraw/", membership.withdraw, name="withdraw"),
    ],
    ("tokens/", "tokens"): [
        path("", membership.token_list, name="index"),
        path("new/", membership.new_token, name="new"),
        path("<int:pk>/revoke/", membership.revoke, name="revoke"),
        path("<int:pk>/gate/", membership.set_gate, name="gate"),
    ],
    ("connect/", "connect"): [
        path("", connect.index, name="index"),
        path("model/", connect.model, name="model"),
        path("model/test/", connect.test_model, name="test_model"),
        path("bots/<slug:name>/", connect.bot, name="bot"),
        path("people/<int:pk>/remove/", connect.remove_person, name="remove_person"),
        path("webhooks/new/", connect.new_webhook, name="new_webhook"),
        path("webhooks/<int:pk>/test/", connect.test_webhook, name="test_webhook"),
        path("webhooks/<int:pk>/delete/", connect.delete_webhook, name="delete_webhook"),
        path("webhooks/<int:pk>/replay/<int:delivery>/", connect.replay, name="replay"),
    ],
    ("proposals/", "proposals"): [
        path("", proposals.index, name="index"),
        path("approve-all/", proposals.approve_all, name="approve_all"),
        path("reject-all/", proposals.reject_all, name="reject_all"),
        path("docket/", proposals.docket, name="docket"),
        path("<int:pk>/", proposals.detail, name="detail"),
        path("<int:pk>/impact/", proposals.impact, name="impact"),
        path("<int:pk>/approve/", proposals.approve, name="approve"),
        path("<int:pk>/reject/", proposals.reject, name="reject"),
        path("<int:pk>/rebase/", proposals.rebase, name="rebase"),
        path("<int:pk>/undo/", proposals.undo, name="undo"),
    ],
    ("still-true/", "still_true"): [
        path("", still_true.index, name="index"),
        path("undo/", still_true.undo, name="undo"),
        path("<int:pk>/", still_true.detail, name="detail"),
        path("<int:pk>/yes/", still_true.confirm, name="confirm"),
        path("<int:pk>/no/", still_true.end, name="end"),
        path("<int:pk>/correct/", still_true.correct, name="correct"),
    ],
    ("nights/", "nights"): [
        path("", nights.index, name="index"),
        path("run/", nights.run, name="run"),
        path("progress/", nights.progress, name="progress"),
        path("<int:pk>/", nights.detail, name="detail"),
        path("<int:pk>/stop/", nights.stop, name="stop"),
        path("<int:pk>/undo/", nights.undo, name="undo"),
        path("changes/<int:pk>/undo/", nights.undo_change, name="undo_change"),
        path("changes/<int:pk>/redo/", nights.redo_change, name="redo_change"),
    ],
    ("", "recall"): [
        path("recall/", recall.lab, name="lab"),
        path("recall/save/", recall.save, name="save"),
        path("recall/choose/", recall.choose, name="choose"),
        path("receipts/", recall.receipts, name="receipts"),
        path("receipts/<int:pk>/", recall.receipt, name="receipt"),
        path("receipts/<int:pk>/card.svg", recall.receipt_card, name="receipt_card"),
        path("receipts/<int:pk>/markdown/", recall.receipt_markdown, name="receipt_markdown"),
        path("receipts/<int:pk>/weigh/", golden.weigh, name="weigh"),
    ],
    ("golden/", "golden"): [
        path("", golden.index, name="index"),
        path("new/", golden.new, name="new"),
        path("run/", golden.run, name="run"),
        path("trend/", golden.trend, name="trend"),
        path("<int:pk>/", golden.detail, name="detail"),
        path("<int:pk>/retire/", golden.retire, name="retire"),
        path("<int:pk>/accept/", golden.accept, name="accept"),
        path("<int:pk>/undo/<uuid:change>/", golden.undo, name="undo"),
    ],
    ("map/", "map"): [
        path("", memory_map.index, name="index"),
        path("points/", memory_map.points, name="points"),
    ],
    ("transfer/", "transfer"): [
        path("", transfer.index, name="index"),
        path("keep/", transfer.keep, name="keep"),
        path("export/", transfer.export, name="export"),
        path("<int:pk>/", transfer.detail, name="detail"),
        path("<int:pk>/look/", transfer.look, name="look"),
        path("<int:pk>/apply/", transfer.apply, name="apply"),
        path("<int:pk>/impact/", transfer.impact, name="impact"),
        path("<int:pk>/download/", transfer.download, name="download"),
        path("<int:pk>/discard/", transfer.discard, name="discard"),
        path("undo/<int:pk>/", transfer.undo, name="undo"),
        path("learn/<int:pk>/", transfer.learn, name="learn"),
        path("unlearn/<int:pk>/", transfer.unlearn, name="unlearn"),
    ],
}

ACCOUNT_PAGES = {
    ("", "probes"): [
        path("healthz", health.healthz, name="healthz"),
        path("readyz", health.readyz, name="readyz"),
        path("metrics", health.metrics, name="metrics"),
    ],
    ("", "account"): [
        path("sign-in/", account.sign_in, name="sign_in"),
        path("sign-in/code/", account.second, name="second"),
        path("sign-in/passkey/", account.passkey_options, name="passkey_options"),
        path("sign-in/oidc/", account.oidc_leave, name="oidc"),
        path("sign-in/oidc/back/", account.oidc_back, name="oidc_back"),
        path("account/oidc/", account.oidc_link, name="oidc_link"),
        path("account/two-factor/", account.set_second, name="two_factor"),
        path("account/passkeys/", account.add_passkey, name="add_passkey"),
        path("account/passkeys/new/", account.new_passkey_options, name="new_passkey_options"),
        path("account/passkeys/<int:pk>/remove/", account.remove_passkey, name="remove_passkey"),
        path("sign-out/", account.sign_out, name="sign_out"),
        path("account/", account.index, name="index"),
        path("account/password/", account.password, name="password"),
        path("account/sudo/", account.sudo, name="sudo"),
        path("account/delete/", account.delete_account, name="delete"),
        path("account/erasures/<int:pk>/", erasing.mine, name="erasure"),
        path(
            "account/sign-out-everywhere/",
            account.sign_out_everywhere,
            name="sign_out_everywhere",
        ),
    ],
    ("", "links"): [
        path(PATHS[Kind.SETUP] % "<str:token>", account.setup, name="setup"),
        path(PATHS[Kind.SIGN_IN] % "<str:token>", account.enter, name="enter"),
        path(PATHS[Kind.INVITE] % "<str:token>", account.join, name="join"),
    ],
    ("", "spaces"): [
        path("spaces/", membership.space_list, name="index"),
        path("spaces/new/", membership.new, name="new"),
        path("spaces/demo/", membership.make_demo, name="make_demo"),
        path("s/<slug:space>/settings/", membership.edit, name="edit"),
        path("s/<slug:space>/archive/", membership.archive, name="archive"),
    ],
    ("", "chat_links"): [
        path("account/chats/", chats.offer, name="offer"),
        path("account/chats/<int:pk>/unlink/", chats.unlink, name="unlink"),
    ],
}

PROGRAM_ROUTES = {
    ("", "programs"): [
        path("mcp", rest.over_mcp, name="mcp"),
        path("api/memory", rest.alias("GET", "facts"), name="memory"),
        path("api/memory/search", rest.alias("GET", "recall"), name="memory_search"),
        path("api/memory/refresh", rest.alias("POST", "begin_night"), name="memory_refresh"),
        path("health/memory", rest.alias("GET", "health"), name="memory_health"),
        path("v1/models", gateway.models, name="models"),
        path("v1/chat/completions", gateway.chat_completions, name="chat_completions"),
    ],
}

urlpatterns = [
    path("", ui.home, name="home"),
    path("favicon.ico", ui.favicon, name="favicon"),
    path("manifest.webmanifest", ui.manifest, name="manifest"),
    path("sw.js", ui.service_worker, name="service_worker"),
    path("offline/", ui.offline, name="offline"),
    path("theme/", ui.theme, name="theme"),
    path("language/", ui.language, name="language"),
    path("styleguide/", ui.styleguide, name="styleguide"),
    *rooms(ACCOUNT_PAGES),
    path("s/<slug:space>/", include(rooms(SPACE_PAGES))),
    path("api/v1/events", events.for_programs, name="events"),
    path("api/v1/", include((rest.urls(), "api"))),
    *rooms(PROGRAM_ROUTES),
    path("", include((mem0.urls(), "mem0"))),
    path("", include((oauth.urls(), "oauth2_provider"))),
]
