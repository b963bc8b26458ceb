"""Which files an installation has; everything else about the package stands in pyproject.toml."""

from setuptools import find_namespace_packages, setup

# They lie beside the apps in a checkout and inside the package once it is installed
# (kenoweb/settings/base.py looks in both places).
BESIDE = {f"kenoweb.{name}": name for name in ("templates", "static", "locale")}

setup(
    packages=[
        *find_namespace_packages(include=["kenoweb*", "memory*", "sleep*", "bot*"]),
        *BESIDE,
    ],
    package_dir=BESIDE,
    package_data={"": ["*", "**/*"]},
)
