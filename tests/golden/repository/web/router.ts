export interface Route { path: string; handler: Handler }

/** Matches a URL against the registered routes, most specific first. */
export class Router {
  private routes: Route[] = [];

  add(path: string, handler: Handler): void {
    this.routes.push({ path, handler });
  }

  match(url: string): Route | undefined {
    return this.routes.find((route) => url.startsWith(route.path));
  }
}
