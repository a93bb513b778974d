/**
 * The result of an update that forwards its request to a peer instead of writing an object here. Such an update writes
 * nothing, so no request is both forwarded and written. The registry does not depend on HTTP: the caller defines the
 * type of the response.
 */
export class Forwarded<Response = unknown> {
  /** Sends the request to the peer and returns its response. */
  readonly respond: () => Promise<Response>;

  constructor(respond: () => Promise<Response>) {
    this.respond = respond;
  }
}
