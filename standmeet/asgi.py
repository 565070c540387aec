import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "standmeet.settings")
os.environ.setdefault("STANDMEET_ROLE", "web")

from django.core.asgi import get_asgi_application

application = get_asgi_application()
