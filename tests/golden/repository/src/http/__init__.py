from .client import HttpClient
from .cookies import CookieJar
from .pool import ConnectionPool
from .retry import RetryPolicy

__all__ = ["HttpClient", "CookieJar", "ConnectionPool", "RetryPolicy"]
