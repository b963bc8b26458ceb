"""URLs of the pages that show and run the system: under /s/<space>/, and the probes."""

from django.urls import include, path

from kenoweb.operations import audit, costs, health, notices, overview, palette, space_settings

overview_urls = (
    [
        path("", overview.index, name="index"),
    ],
    "overview",
)

search_urls = (
    [
        path("", palette.index, name="index"),
    ],
    "search",
)

cost_urls = (
    [
        path("", costs.index, name="index"),
    ],
    "costs",
)

health_urls = (
    [
        path("", health.index, name="index"),
    ],
    "health",
)

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
        path("", health.dead_letters, name="index"),
        path("<int:pk>/retry/", health.retry, name="retry"),
        path("<int:pk>/discard/", health.discard, name="discard"),
        path("<int:pk>/restore/", health.restore, name="restore"),
    ],
    "letters",
)

audit_urls = (
    [
        path("", audit.index, name="index"),
    ],
    "audit",
)

settings_urls = (
    [
        path("", space_settings.index, name="index"),
    ],
    "settings",
)

probe_urls = (
    [
        path("healthz", health.healthz, name="healthz"),
        path("readyz", health.readyz, name="readyz"),
        path("metrics", health.metrics, name="metrics"),
    ],
    "probes",
)

in_space = [
    path("", include(overview_urls)),
    path("search/", include(search_urls)),
    path("costs/", include(cost_urls)),
    path("health/", include(health_urls)),
    path("notices/", include(notice_urls)),
    path("dead-letters/", include(letter_urls)),
    path("audit/", include(audit_urls)),
    path("memory-settings/", include(settings_urls)),
]
urlpatterns = [path("", include(probe_urls))]
