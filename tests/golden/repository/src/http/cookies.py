class CookieJar:
    """Stores the cookies that servers set and sends them back."""

    def extract(self, response):
        for header in response.headers.get_all("Set-Cookie"):
            self.add(parse_cookie(header))


def parse_cookie(header):
    name, _, rest = header.partition("=")
    value, *attributes = rest.split(";")
    return name.strip(), value, attributes
