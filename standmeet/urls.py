from django.contrib import admin
from django.urls import include, path

admin.site.site_header = "StandMeet"
admin.site.site_title = "StandMeet"
admin.site.index_title = "Your page"

urlpatterns = [path("admin/", admin.site.urls), path("", include("requests_app.urls"))]
