from django.urls import path

from requests_app import views

urlpatterns = [
    path("", views.home, name="home"),
    path("ask/", views.ask, name="ask"),
    path("received/", views.received, name="received"),
    path("redeem/", views.redeem, name="redeem"),
    path("leave/", views.leave, name="leave"),
]
