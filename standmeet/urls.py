from django.contrib import admin
from django.contrib.auth.models import Group
from django.urls import include, path
from django_q.models import Failure, Schedule, Success

admin.site.site_header = "StandMeet"
admin.site.site_title = "StandMeet"
admin.site.index_title = "Your page"
# Not in use here: django-q2's own tables, and groups on a page with one owner.
admin.site.unregister([Failure, Schedule, Success, Group])

urlpatterns = [path("admin/", admin.site.urls), path("", include("requests_app.urls"))]
