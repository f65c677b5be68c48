class HttpClient:
    """Sends requests and follows redirects."""

    def __init__(self, pool, retry):
        self.pool = pool
        self.retry = retry

    def send(self, request):
        for attempt in self.retry.attempts():
            response = self.pool.borrow(request.host).exchange(request)
            if not self.retry.again(response, attempt):
                return response
