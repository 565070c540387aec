from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib import admin
from django.contrib.auth.models import Group
from django.urls import include, path
from django_q.models import Failure, Schedule, Success

# Not for the owner: tables of django-q2, groups on a page with one owner, counts of wrong passwords.
for model in (Failure, Schedule, Success, Group, AccessAttempt, AccessFailureLog, AccessLog):
    if admin.site.is_registered(model):
        admin.site.unregister(model)

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("accounts.urls")),
    path("", include("requests_app.urls")),
]
