import os
from datetime import timedelta
from pathlib import Path

from csp.constants import NONE, SELF

from standmeet import env

BASE_DIR = Path(__file__).resolve().parent.parent
LOCAL_DIR = BASE_DIR / ".local"

_database = env.database("DATABASE_URL")
# Without DATABASE_URL this is a set-up on one's own machine: an embedded Postgres, and secrets made for it.
_generated = None if _database else LOCAL_DIR / "secrets"

DEBUG = env.boolean("DEBUG", False)
SECRET_KEY = env.secret("SECRET_KEY", generated=_generated)
# Encrypts what the owner stores (a mail password, codes) and keys the hashes. To change it: docs/operations.md.
INSTANCE_SECRET = env.secret("INSTANCE_SECRET", generated=_generated)
INSTANCE_SECRET_PREVIOUS = os.environ.get("INSTANCE_SECRET_PREVIOUS", "")

PUBLIC_URL = env.url("PUBLIC_URL", "http://127.0.0.1:8000")
_https = PUBLIC_URL.startswith("https:")
ALLOWED_HOSTS = env.names("ALLOWED_HOSTS", env.hosts_of(PUBLIC_URL))
CSRF_TRUSTED_ORIGINS = ["/".join(PUBLIC_URL.split("/")[:3])]
# How many proxies in front append to X-Forwarded-For; 0: the header is not believed.
TRUSTED_PROXIES = env.integer("TRUSTED_PROXIES", 0, most=10)
if TRUSTED_PROXIES and _https:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

CATALOG = "standmeet.catalog.CATALOG"
# Worker processes per queue, in each `manage.py worker`. Webhooks have none until they are built.
QUEUES = {
    "notify": env.integer("WORKER_NOTIFY", 2, most=64),
    "index": env.integer("WORKER_INDEX", 4, most=64),
    "webhook": env.integer("WORKER_WEBHOOK", 0, most=64),
    "fetch": env.integer("WORKER_FETCH", 3, most=64),
    "maintenance": env.integer("WORKER_MAINTENANCE", 1, most=64),
}
# An event outlives the jobs that it became, the failed ones' 7 days included: a retry reads it.
EVENTS_KEPT_DAYS = env.integer("EVENTS_KEPT_DAYS", 90, least=8, most=36500)
# Who may read /metrics: whoever sends this as a bearer token; without one, this machine only.
METRICS_TOKEN = env.optional_secret("METRICS_TOKEN")

# How tools are named to AI clients (some refuse dots), and how often a token may call them, in each web process.
MCP_TOOL_NAMES = env.choice("MCP_TOOL_NAMES", "DOTTED", ["DOTTED", "UNDERSCORED"]).lower()
MCP_CALLS_A_MINUTE = env.integer("MCP_CALLS_A_MINUTE", 600, least=1)

INSTALLED_APPS = [
    # Ours come before the admin, whose templates they override.
    "tasks",
    "accounts",
    "requests_app",
    "jobs",
    "corpus",
    "standmeet.mcp",
    "standmeet.apps.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "axes",
    "csp",
    "django_htmx",
    "django_q",
]
MIDDLEWARE = [
    # First: a probe comes by an address and not by the site's name, and must not wait for what the others need.
    "standmeet.probes.probes",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "accounts.middleware.OwnersTimeZone",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "standmeet.urls"
ASGI_APPLICATION = "standmeet.asgi.application"
WSGI_APPLICATION = "standmeet.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]


def _databases() -> dict[str, dict[str, object]]:
    database = dict(_database or {})
    if not database:
        from standmeet import localpg

        params = localpg.params()
        database = {
            "ENGINE": "standmeet.localpg",
            "NAME": params["dbname"],
            "USER": params["user"],
            "HOST": str(params["host"]),
            "PORT": str(params.get("port", "")),
            "OPTIONS": {},
        }
    if os.environ.get("STANDMEET_ROLE") == "web":  # set by standmeet.asgi: there, threads come and go
        pool = {"min_size": 1, "max_size": env.integer("WEB_CONNECTIONS", 10, least=1, most=500), "timeout": 10}
        database["OPTIONS"] = {**database["OPTIONS"], "pool": pool}  # type: ignore[dict-item]
    else:
        database["CONN_MAX_AGE"] = None  # a worker keeps its one connection
    database["CONN_HEALTH_CHECKS"] = True
    # A peer that is gone without a word is noticed within about ten seconds.
    keepalive = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 10_000}
    database["OPTIONS"] = {**keepalive, **database["OPTIONS"]}  # type: ignore[dict-item]
    return {"default": database}


DATABASES = _databases()
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "accounts.Owner"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "admin:login"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
# Ten wrong passwords from one client, or for one address from one client, close the door for a quarter of an hour.
# Not for an address alone: anybody could shut the owner out.
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = ["ip_address", ["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_CLIENT_IP_CALLABLE = "accounts.visitors.address_of"
AXES_LOCKOUT_CALLABLE = "accounts.views.locked_out"
AXES_DISABLE_ACCESS_LOG = True
AXES_VERBOSE = False

# Only the process tree is django-q2's (tasks/queue/cluster.py); its scheduler, results and timers are not in use.
Q_CLUSTER = {
    "name": "standmeet",
    "workers": 1,
    "timeout": 60,
    "retry": 120,
    "save_limit": -1,
    "scheduler": False,
    "log_level": "WARNING",
    "broker_class": "tasks.queue.cluster.NoBroker",
}

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"

STATIC_URL = "static/"
MEDIA_URL = "media/"
STATICFILES_DIRS = [BASE_DIR / "standmeet" / "static"]
WHITENOISE_USE_FINDERS = True  # no collectstatic step
WHITENOISE_MAX_AGE = 0 if DEBUG else 3600

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _https
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_NAME = "standmeet_session"
CSRF_COOKIE_NAME = "standmeet_csrf"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_HSTS_SECONDS = 3600 * 24 * 30 if _https else 0
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

_level = env.choice("LOG_LEVEL", "INFO", ["DEBUG", "INFO", "WARNING", "ERROR"])
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "loggers": {
        "standmeet": {
            "handlers": ["console"],
            "level": env.choice("LOG_LEVEL", "INFO", ["DEBUG", "INFO", "WARNING", "ERROR"]),
        },
        "django.request": {"handlers": ["console"], "level": "WARNING"},
    },
}
