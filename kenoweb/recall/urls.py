"""URLs of the recall lab, receipts and the map, under /s/<space>/."""

from django.urls import include, path

from kenoweb.recall import map, views

recall_urls = (
    [
        path("recall/", views.lab, name="lab"),
        path("recall/save/", views.save, name="save"),
        path("recall/choose/", views.choose, name="choose"),
        path("receipts/", views.receipts, name="receipts"),
        path("receipts/<int:pk>/", views.receipt, name="receipt"),
    ],
    "recall",
)

map_urls = (
    [
        path("", map.index, name="index"),
        path("points/", map.points, name="points"),
    ],
    "map",
)

urlpatterns = [
    path("", include(recall_urls)),
    path("map/", include(map_urls)),
]
