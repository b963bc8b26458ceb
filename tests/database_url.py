"""The address of a database for programs that a test starts."""

from urllib.parse import quote, urlencode


def url_of(values: dict) -> str:
    """Return the address for Django's settings; undoes `database.parse`."""
    names = ("USER", "PASSWORD", "HOST", "PORT")
    options = {name.lower(): values[name] for name in names if values.get(name)}
    options |= {"dbname": values.get("NAME") or "", **values.get("OPTIONS", {})}
    return f"postgresql:///?{urlencode(options, quote_via=quote)}"
