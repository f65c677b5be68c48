from src.store.cache import LruCache


def test_lru_cache_drops_the_least_recently_used():
    cache = LruCache(1)
    cache.put("a", 1)
    cache.put("b", 2)
    assert "a" not in cache.entries
