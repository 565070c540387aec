from django.contrib import admin

from tasks.models import Event, Task
from tasks.panel import periodic  # noqa: F401
from tasks.panel.events_admin import EventAdmin
from tasks.panel.jobs_admin import TaskAdmin

admin.site.register(Task, TaskAdmin)
admin.site.register(Event, EventAdmin)
