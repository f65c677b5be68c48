/** Who is logged in, kept in a signed cookie. */
export class Session {
  constructor(private secret: string) {}

  sign(user: string): string {
    return `${user}.${hmac(this.secret, user)}`;
  }

  verify(cookie: string): string | null {
    const [user, mac] = cookie.split(".");
    return mac === hmac(this.secret, user) ? user : null;
  }
}
