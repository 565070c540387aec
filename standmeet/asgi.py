import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "standmeet.settings")
os.environ.setdefault("STANDMEET_ROLE", "web")

from django.core.asgi import get_asgi_application

django = get_asgi_application()  # from here on there are models

from standmeet.mcp.wire import WithMcp  # noqa: E402

application = WithMcp(django)
