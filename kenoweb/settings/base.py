import sys
from pathlib import Path

from django.utils.translation import gettext_lazy as _

from kenoweb import __version__, data_dir
from kenoweb.environment import envbool, envchoice, envint, envlist, envsecret, envstr
from kenoweb.launcher import database
from kenoweb.settings.bot import *  # noqa: F403

# In a checkout, templates and the rest lie beside the apps; installed, inside the package.
_CHECKOUT, _PACKAGE = Path(__file__).resolve().parents[2], Path(__file__).resolve().parents[1]
BASE_DIR = _CHECKOUT if (_CHECKOUT / "manage.py").exists() else _PACKAGE
VERSION = __version__

KENO_HOME = data_dir.path()
DEBUG = envbool("KENO_DEBUG")
SECRET_KEY = envsecret("KENO_SECRET_KEY") or data_dir.read_secret(KENO_HOME)
# Loopback names are always there: health checks ask from the inside.
ALLOWED_HOSTS = [*envlist("KENO_HOSTS"), "localhost", "127.0.0.1", "[::1]"]
CSRF_TRUSTED_ORIGINS = envlist("KENO_TRUSTED_ORIGINS")
KENO_PROXIES = envint("KENO_PROXIES", 0, low=0, high=9)
KENO_PLAIN_HTTP = envbool("KENO_PLAIN_HTTP")
KENO_WEB_THREADS = envint("KENO_WEB_THREADS", 4, low=1, high=64)

# Whether everybody needs a second factor.
KENO_TWO_FACTOR = envbool("KENO_TWO_FACTOR")
KENO_OIDC_ISSUER = envstr("KENO_OIDC_ISSUER")
KENO_OIDC_CLIENT_ID = envstr("KENO_OIDC_CLIENT_ID")
KENO_OIDC_CLIENT_SECRET = envsecret("KENO_OIDC_CLIENT_SECRET")
KENO_OIDC_NAME = envstr("KENO_OIDC_NAME") or "OpenID Connect"

# Where backups go, how many days the daily ones are kept (0: none are made), and their seal.
KENO_BACKUPS = envstr("KENO_BACKUPS") or str(KENO_HOME / "backups")
KENO_MIRRORS = envstr("KENO_MIRRORS") or str(KENO_HOME / "mirrors")
KENO_BACKUP_DAYS = envint("KENO_BACKUP_DAYS", 0, low=0, high=3650)
KENO_BACKUP_PASSPHRASE = envsecret("KENO_BACKUP_PASSPHRASE")

# What wraps the keys of encrypted spaces: a file of random bytes, or a passphrase.
KENO_CONTENT_KEY_FILE = envstr("KENO_CONTENT_KEY_FILE")
KENO_CONTENT_PASSPHRASE = envsecret("KENO_CONTENT_PASSPHRASE")

# Behind HTTPS. Whether subdomains follow, and preloading, is for the owner of the domain.
KENO_HTTPS = envbool("KENO_HTTPS")
SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = KENO_HTTPS
# Names of our own: another program on another port of this machine shares its cookies with us.
# Under __Host- a browser takes them from this very host alone.
_HOST = "__Host-" if KENO_HTTPS else ""
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = f"{_HOST}keno_session", f"{_HOST}keno_csrf"
CSRF_COOKIE_HTTPONLY = True  # pages carry the token in their markup
SECURE_HSTS_SECONDS = 365 * 24 * 60 * 60 if KENO_HTTPS else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if KENO_PROXIES else None
SECURE_REDIRECT_EXEMPT = ["^healthz$", "^readyz$"]
SILENCED_SYSTEM_CHECKS = [
    *("security.W005", "security.W021"),
    # A program on the same machine is called back at http://127.0.0.1 (RFC 8252).
    "oauth2_provider.W008",
]

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.staticfiles",
    "pgtrigger",
    "pghistory",
    "procrastinate.contrib.django",
    "oauth2_provider",
    "django_htmx",
    "memory",
    "sleep",
    "bot",
    "kenoweb",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "kenoweb.ui.middleware.StrictHeaders",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "kenoweb.auth.sessions.CurrentUser",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "kenoweb.ui.middleware.ToastsInFragments",
    "kenoweb.ui.middleware.RejectCrossSite",
    "kenoweb.auth.sessions.SignInRequired",
]
ROOT_URLCONF = "kenoweb.urls"
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
                "kenoweb.ui.page_chrome.page_chrome",
            ]
        },
    }
]
WSGI_APPLICATION = "kenoweb.wsgi.application"

# Workers, commands and LISTEN speak to the direct address; pages (kenoweb/wsgi.py) to a pooler.
DATABASE_URL = database.direct()
DATABASES = {"default": database.settings_for(DATABASE_URL, KENO_HOME)}
if _READ := database.replica():
    DATABASES["replica"] = database.settings_for(_READ, KENO_HOME)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
PGHISTORY_BASE_MODEL = "memory.models.event.Event"

_VALIDATION = "django.contrib.auth.password_validation"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"{_VALIDATION}.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": f"{_VALIDATION}.UserAttributeSimilarityValidator"},
    {"NAME": f"{_VALIDATION}.CommonPasswordValidator"},
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTHENTICATION_BACKENDS = ["kenoweb.auth.sessions.Backend"]
LOGIN_URL = "account:sign_in"
LOGIN_REDIRECT_URL = "home"
SESSION_ENGINE = "kenoweb.auth.session_store"
SESSION_COOKIE_AGE = 14 * 24 * 60 * 60

# Programs that ask for access (kenoweb/api/oauth.py): only codes with PKCE, keys by digest.
_RFC9700 = (
    "IMPLICIT_GRANT PASSWORD_GRANT PKCE_METHOD ACCESS_TOKEN_TRANSPORT "
    "AUTHZ_RESPONSE_ISS TOKEN_STORAGE REFRESH_TOKEN PKCE_REQUIRED"
).split()
OAUTH2_PROVIDER = {
    "SCOPES": {name: name for name in ("read", "write", "chat", "private")},
    "DEFAULT_SCOPES": ["read"],
    "ACCESS_TOKEN_EXPIRE_SECONDS": 60 * 60,
    "REFRESH_TOKEN_EXPIRE_SECONDS": 90 * 24 * 60 * 60,
    "REFRESH_TOKEN_REUSE_PROTECTION": True,
    "ALLOWED_REDIRECT_URI_SCHEMES": ["https", "http", "cursor", "vscode", "claude"],
    "ALLOW_LOCALHOST_LOOPBACK": True,
    "DCR_ENABLED": True,
    "DCR_REGISTRATION_PERMISSION_CLASSES": ("kenoweb.api.oauth.MayRegister",),
    "OAUTH2_RESPONSE_TYPES_SUPPORTED": ["code"],
    "OAUTH2_GRANT_TYPES_SUPPORTED": ["authorization_code", "refresh_token"],
    "OAUTH2_TOKEN_ENDPOINT_AUTH_METHODS_SUPPORTED": (
        "none client_secret_basic client_secret_post".split()
    ),
    "OAUTH2_PROTECTED_RESOURCE_NAME": "Keno",
    **{f"COMPLIANT_BCP_RFC9700_{name}": True for name in _RFC9700},
}

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("es", _("Spanish"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = ["kenoweb.ui.formats"]
TIME_ZONE = "UTC"

STATIC_URL = "static/"
STATIC_ROOT = Path(envstr("KENO_STATIC") or KENO_HOME / "static")
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}

# Files come in on one page only, for owners, and no larger than this.
KENO_UPLOAD_MB = envint("KENO_UPLOAD_MB", 200, low=1, high=2000)
FILE_UPLOAD_HANDLERS = ["kenoweb.transfer.views.Capped"]
# `up` only starts the other processes, so it loads neither jobs nor nights.
ONLY_STARTS_OTHERS = sys.argv[1:2] == ["up"]
PROCRASTINATE_AUTODISCOVER_MODULE_NAME = None if ONLY_STARTS_OTHERS else "tasks"
PROCRASTINATE_IMPORT_PATHS = [] if ONLY_STARTS_OTHERS else ["memory.transfer.tasks"]

EMBEDDING_ENABLED = envbool("EMBEDDING_ENABLED", True)
EMBEDDING_PROVIDER = envchoice(
    "EMBEDDING_PROVIDER", "embedded", choices=("embedded", "openai", "gemini", "gemini-embedding")
).removesuffix("-embedding")
EMBEDDING_MODEL = envstr("EMBEDDING_MODEL")
EMBEDDING_DIMENSIONS = envint("EMBEDDING_DIMENSIONS", 0, low=0, high=2000)
EMBEDDING_BASE_URL = envstr("EMBEDDING_BASE_URL") or (
    envstr("OPENAI_BASE_URL") if EMBEDDING_PROVIDER == "openai" else ""
)
EMBEDDING_API_KEY = envsecret("EMBEDDING_API_KEY") or envsecret(
    "OPENAI_API_KEY" if EMBEDDING_PROVIDER == "openai" else "GEMINI_API_KEY"
)

# Logs are one line of JSON each, to the standard error output.
LOG_LEVEL = envchoice("LOG_LEVEL", "info", choices=("debug", "info", "warning", "warn", "error"))
LOG_FORMAT = envchoice("LOG_FORMAT", "json", choices=("json", "plain"))
_LEVEL = {"warn": "WARNING"}.get(LOG_LEVEL, LOG_LEVEL.upper())
# A line for every job and every SQL statement helps nobody.
_QUIET = "INFO" if LOG_LEVEL == "debug" else "WARNING"
_SILENT = "INFO" if LOG_LEVEL == "debug" else "CRITICAL"
# bot.worker reports failed jobs and a lost database instead of these.
_SILENT_LOGGERS = ("procrastinate.worker", "procrastinate.utils", "psycopg.pool")

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {"()": "memory.logs.JsonFormatter"},
        "plain": {"()": "memory.logs.PlainFormatter"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        **{app: {"level": _LEVEL} for app in ("memory", "sleep", "bot", "kenoweb")},
        **{name: {"level": _QUIET} for name in ("procrastinate", "httpx2", "psycopg")},
        **{name: {"level": _SILENT} for name in _SILENT_LOGGERS},
        # Without handlers of its own everything is printed once, by ours.
        **{name: {"level": _QUIET, "handlers": []} for name in ("django", "django.server")},
    },
}
