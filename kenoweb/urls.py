"""Every address and the view that answers it. The pages of a space are under /s/<space>/<noun>/."""

from types import ModuleType

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


def room(prefix: str, namespace: str, *routes: URLPattern) -> URLResolver:
    """Return the routes of one noun, under its prefix and namespace."""
    return path(prefix, include((list(routes), namespace)))


def pages(views: ModuleType, names: str, *, under: str = "") -> list[URLPattern]:
    """Return a route for each view of these names: `see_all` is at see-all/, `index` at the top."""
    places = {name: f"{name.replace('_', '-')}/" for name in names.split()}
    places |= {name: "" for name in ("index", "detail") if name in places}
    return [path(under + there, getattr(views, name), name=name) for name, there in places.items()]


def of_row(views: ModuleType, names: str) -> list[URLPattern]:
    """Return the routes of one row: `forget` is at <pk>/forget/, `detail` at <pk>/ itself."""
    return pages(views, names, under="<int:pk>/")


in_space = [
    room("", "overview", path("", overview.index, name="index")),
    room("events/", "events", path("", events.for_pages, name="index")),
    room("search/", "search", path("", palette.index, name="index")),
    room(
        "costs/",
        "costs",
        *pages(costs, "index facts calls"),
        path("calls/<int:pk>/", costs.call, name="call"),
    ),
    room("health/", "health", path("", health.index, name="index")),
    room("notices/", "notices", *pages(notices, "index see_all"), *of_row(notices, "see unsee")),
    room(
        "dead-letters/",
        "dead_letters",
        *of_row(health, "retry discard restore"),
        path("", health.dead_letters, name="index"),
    ),
    room("audit/", "audit", path("", audit.index, name="index")),
    room(
        "memory-settings/",
        "settings",
        path("", space_settings.index, name="index"),
        path("encryption/", space_settings.encrypt, name="encryption"),
    ),
    room("", "history", path("undo/<uuid:change>/", ui.undo, name="undo")),
    room(
        "facts/",
        "facts",
        *pages(facts, "index new remember bulk"),
        *of_row(
            facts,
            "detail markdown revise forget restore pin unpin discard deprecate promote "
            "quarantine release never keep dont_mention impact merge purge",
        ),
        path("markdown/", facts.markdown_list, name="markdown_list"),
    ),
    room(
        "people/",
        "people",
        *pages(people, "index graph"),
        *of_row(people, "detail export revise merge part"),
    ),
    room(
        "episodes/",
        "episodes",
        *pages(episodes, "index bulk"),
        *of_row(episodes, "detail markdown revise discard restore rate split purge"),
    ),
    room(
        "patterns/",
        "patterns",
        *pages(patterns, "index new learn"),
        *of_row(patterns, "detail revise archive restore discard promote release purge"),
    ),
    room(
        "working/",
        "working",
        *of_row(working_notes, "detail revise clear"),
        path("", working_notes.index, name="index"),
    ),
    room(
        "rulings/",
        "rulings",
        *pages(rulings, "index add"),
        path("<int:pk>/lift/", rulings.lift, name="lift"),
    ),
    room(
        "quarantine/",
        "quarantine",
        path("", quarantine.index, name="index"),
        path("episodes/<int:pk>/release/", quarantine.release_episode, name="release_episode"),
    ),
    room(
        "trash/",
        "trash",
        path("", trash.index, name="index"),
        path("empty/", trash.empty_trash, name="empty"),
    ),
    room(
        "erase/",
        "erase",
        *of_row(erasing, "detail receipt"),
        path("<str:kind>/<int:pk>/", erasing.preview, name="preview"),
    ),
    room(
        "lineage/",
        "lineage",
        path("<str:kind>/<int:pk>/", erasing.came, name="detail"),
        path("<str:kind>/<int:pk>/discard/", erasing.discard, name="discard"),
    ),
    room(
        "chats/",
        "chats",
        *pages(chats, "index new begin"),
        *of_row(chats, "detail say incognito private waiting facts about revise"),
        path("<int:pk>/open/", chats.open_private, name="open"),
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
    ),
    room(
        "identity/",
        "identity",
        *pages(identity, "index edit rule"),
        path("prompt/", identity.as_prompt, name="as_prompt"),
        path("rule/retire/", identity.retire, name="retire"),
        path("preference/", identity.prefer, name="prefer"),
        path("talk/end/", identity.end_talk, name="end_talk"),
        path("preference/<int:pk>/drop/", identity.drop, name="drop"),
    ),
    room(
        "members/",
        "members",
        *pages(membership, "invite leave"),
        path("", membership.member_list, name="index"),
        path("<int:pk>/role/", membership.change_role, name="change_role"),
        path("<int:pk>/remove/", membership.remove, name="remove"),
        path("undo/<int:pk>/", membership.undo, name="undo"),
        path("invitations/<int:pk>/withdraw/", membership.withdraw, name="withdraw"),
    ),
    room(
        "tokens/",
        "tokens",
        path("", membership.token_list, name="index"),
        path("new/", membership.new_token, name="new"),
        path("<int:pk>/revoke/", membership.revoke, name="revoke"),
        path("<int:pk>/gate/", membership.set_gate, name="gate"),
    ),
    room(
        "connect/",
        "connect",
        *pages(connect, "index model"),
        path("model/test/", connect.test_model, name="test_model"),
        path("bots/<slug:name>/", connect.bot, name="bot"),
        path("people/<int:pk>/remove/", connect.remove_person, name="remove_person"),
        path("webhooks/new/", connect.new_webhook, name="new_webhook"),
        path("webhooks/<int:pk>/test/", connect.test_webhook, name="test_webhook"),
        path("webhooks/<int:pk>/delete/", connect.delete_webhook, name="delete_webhook"),
        path("webhooks/<int:pk>/replay/<int:delivery>/", connect.replay, name="replay"),
    ),
    room(
        "proposals/",
        "proposals",
        *pages(proposals, "index approve_all reject_all docket"),
        *of_row(proposals, "detail impact approve reject rebase undo"),
    ),
    room(
        "still-true/",
        "still_true",
        *pages(still_true, "index undo"),
        *of_row(still_true, "detail correct"),
        path("<int:pk>/yes/", still_true.confirm, name="confirm"),
        path("<int:pk>/no/", still_true.end, name="end"),
    ),
    room(
        "nights/",
        "nights",
        *pages(nights, "index run progress"),
        *of_row(nights, "detail stop undo"),
        path("changes/<int:pk>/undo/", nights.undo_change, name="undo_change"),
        path("changes/<int:pk>/redo/", nights.redo_change, name="redo_change"),
    ),
    room(
        "",
        "recall",
        path("recall/", recall.lab, name="lab"),
        path("recall/save/", recall.save, name="save"),
        path("recall/choose/", recall.choose, name="choose"),
        path("receipts/", recall.receipts, name="receipts"),
        path("receipts/<int:pk>/", recall.receipt, name="receipt"),
        path("receipts/<int:pk>/card.svg", recall.receipt_card, name="receipt_card"),
        path("receipts/<int:pk>/markdown/", recall.receipt_markdown, name="receipt_markdown"),
        path("receipts/<int:pk>/weigh/", golden.weigh, name="weigh"),
    ),
    room(
        "golden/",
        "golden",
        *pages(golden, "index new run trend"),
        *of_row(golden, "detail retire accept"),
        path("<int:pk>/undo/<uuid:change>/", golden.undo, name="undo"),
    ),
    room("map/", "map", *pages(memory_map, "index points")),
    room(
        "transfer/",
        "transfer",
        *pages(transfer, "index keep export"),
        *of_row(transfer, "detail look apply impact download discard"),
        path("undo/<int:pk>/", transfer.undo, name="undo"),
        path("learn/<int:pk>/", transfer.learn, name="learn"),
        path("unlearn/<int:pk>/", transfer.unlearn, name="unlearn"),
    ),
]

urlpatterns = [
    path("", ui.home, name="home"),
    path("favicon.ico", ui.favicon, name="favicon"),
    path("manifest.webmanifest", ui.manifest, name="manifest"),
    path("sw.js", ui.service_worker, name="service_worker"),
    path("offline/", ui.offline, name="offline"),
    path("theme/", ui.theme, name="theme"),
    path("language/", ui.language, name="language"),
    path("styleguide/", ui.styleguide, name="styleguide"),
    room(
        "",
        "probes",
        path("healthz", health.healthz, name="healthz"),
        path("readyz", health.readyz, name="readyz"),
        path("metrics", health.metrics, name="metrics"),
    ),
    room(
        "",
        "account",
        *pages(account, "sign_in sign_out"),
        path("sign-in/code/", account.second, name="second"),
        path("sign-in/passkey/", account.passkey_options, name="passkey_options"),
        path("sign-in/oidc/", account.oidc_leave, name="oidc"),
        path("sign-in/oidc/back/", account.oidc_back, name="oidc_back"),
        path("account/oidc/", account.oidc_link, name="oidc_link"),
        path("account/two-factor/", account.set_second, name="two_factor"),
        path("account/passkeys/", account.add_passkey, name="add_passkey"),
        path("account/passkeys/new/", account.new_passkey_options, name="new_passkey_options"),
        path("account/passkeys/<int:pk>/remove/", account.remove_passkey, name="remove_passkey"),
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
    ),
    room(
        "",
        "links",
        path(PATHS[Kind.SETUP] % "<str:token>", account.setup, name="setup"),
        path(PATHS[Kind.SIGN_IN] % "<str:token>", account.enter, name="enter"),
        path(PATHS[Kind.INVITE] % "<str:token>", account.join, name="join"),
    ),
    room(
        "",
        "spaces",
        path("spaces/", membership.space_list, name="index"),
        path("spaces/new/", membership.new, name="new"),
        path("spaces/demo/", membership.make_demo, name="make_demo"),
        path("s/<slug:space>/settings/", membership.edit, name="edit"),
        path("s/<slug:space>/archive/", membership.archive, name="archive"),
    ),
    room(
        "",
        "chat_links",
        path("account/chats/", chats.offer, name="offer"),
        path("account/chats/<int:pk>/unlink/", chats.unlink, name="unlink"),
    ),
    path("s/<slug:space>/", include(in_space)),
    path("api/v1/events", events.for_programs, name="events"),
    path("api/v1/", include((rest.urls(), "api"))),
    room(
        "",
        "programs",
        path("mcp", rest.over_mcp, name="mcp"),
        path("api/memory", rest.alias("GET", "facts"), name="memory"),
        path("api/memory/search", rest.alias("GET", "recall"), name="memory_search"),
        path("api/memory/refresh", rest.alias("POST", "begin_night"), name="memory_refresh"),
        path("health/memory", rest.alias("GET", "health"), name="memory_health"),
        path("v1/models", gateway.models, name="models"),
        path("v1/chat/completions", gateway.chat_completions, name="chat_completions"),
    ),
    path("", include((mem0.urls(), "mem0"))),
    path("", include((oauth.urls(), "oauth2_provider"))),
]
