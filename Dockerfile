# Alone it runs everything, embedded Postgres included: docker run -v keno:/data -p 127.0.0.1:8000:8000 keno
# compose.yaml runs the parts beside a Postgres of their own.
FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea AS build
WORKDIR /app
RUN python -m venv /venv
COPY requirements.lock ./
RUN /venv/bin/pip install --no-cache-dir --no-deps --require-hashes -r requirements.lock
COPY . .
ENV KENO_STATIC=/app/staticfiles
RUN /venv/bin/python -m kenoweb.launcher.build_image

FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea
# Postgres refuses to run as root and wants an account with a name.
RUN useradd --system --uid 10001 --home-dir /data keno && install --directory --owner keno --mode 0700 /data
COPY --from=build /venv /venv
COPY --from=build /app /app
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    KENO_HOME=/data KENO_STATIC=/app/staticfiles KENO_BIND=0.0.0.0:8000 KENO_PLAIN_HTTP=true
WORKDIR /app
USER keno
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/readyz', timeout=8)"]
STOPSIGNAL SIGTERM
CMD ["python", "manage.py", "up"]
