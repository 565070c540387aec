from django.urls import path

from accounts import views

urlpatterns = [
    path("email/<str:token>/", views.confirm_email, name="email-confirm"),
    path("recover/", views.recover, name="recover"),
]
