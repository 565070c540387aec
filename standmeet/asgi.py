import os
import warnings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "standmeet.settings")
os.environ.setdefault("STANDMEET_ROLE", "web")

# whitenoise hands a file over as a plain iterator, which Django reads in one go: nothing that the owner could mend.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")

from django.core.asgi import get_asgi_application  # noqa: E402

django = get_asgi_application()  # from here on there are models

from standmeet.mcp.wire import WithMcp  # noqa: E402

application = WithMcp(django)
