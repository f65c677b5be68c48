import time


class RetryPolicy:
    """Waits twice as long after each failed attempt."""

    def __init__(self, limit=3):
        self.limit = limit

    def attempts(self):
        for number in range(self.limit):
            yield number
            time.sleep(2**number)

    def again(self, response, attempt):
        return response.status >= 500 and attempt + 1 < self.limit
