from django.apps import AppConfig


class RequestsConfig(AppConfig):
    name = "requests_app"
    label = "requests"
    verbose_name = "Requests"
