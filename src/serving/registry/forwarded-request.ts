/**
 * A request that a peer serves, in the place of the object that the request would write here. An update that is given one
 * writes nothing and returns it, so no request is both forwarded and written. The registry knows no HTTP: what the peer
 * responds with is for the caller to say.
 */
export class Forwarded<Response = unknown> {
  /** Sends the request to the peer. */
  readonly respond: () => Promise<Response>;

  constructor(respond: () => Promise<Response>) {
    this.respond = respond;
  }
}
