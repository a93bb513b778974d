/**
 * A request that a peer serves, in place of the object that the request would write here. An update whose decision is a
 * forwarded request writes nothing and returns it, so no request is both forwarded and written. The registry does not
 * depend on HTTP: the caller defines the type of the response.
 */
export class Forwarded<Response = unknown> {
  /** Sends the request to the peer. */
  readonly respond: () => Promise<Response>;

  constructor(respond: () => Promise<Response>) {
    this.respond = respond;
  }
}
