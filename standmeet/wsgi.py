import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "standmeet.settings")
os.environ.setdefault("STANDMEET_ROLE", "web")

from django.core.wsgi import get_wsgi_application

application = get_wsgi_application()
