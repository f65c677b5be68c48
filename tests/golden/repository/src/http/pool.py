class ConnectionPool:
    """Keeps sockets open between requests to the same host."""

    def __init__(self, size=10):
        self.idle = {}
        self.size = size

    def borrow(self, host):
        return self.idle.pop(host, None) or open_socket(host)

    def give_back(self, host, socket):
        if len(self.idle) < self.size:
            self.idle[host] = socket
