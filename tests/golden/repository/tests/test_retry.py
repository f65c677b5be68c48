from src.http.retry import RetryPolicy


def test_retry_policy_gives_up_after_the_limit():
    policy = RetryPolicy(limit=2)
    assert list(policy.attempts()) == [0, 1]
