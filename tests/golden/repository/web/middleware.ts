import { Session } from "./session";

/** Refuses requests without a valid login. */
export function requireLogin(session: Session) {
  return (request: Request, next: Next) => {
    const user = session.verify(request.cookies["session"]);
    return user ? next({ ...request, user }) : { status: 401 };
  };
}
