/** The port to other servers that OpenAPI needs. */
import type { Candidate } from "../newest.ts";

export interface OpenApiPeer extends Candidate {
  /** Changes when the peer's documents may have changed. */
  readonly documentKey: string;
  hasGroupVersion(group: string, version: string): boolean;
}

export interface OpenApiPeers {
  /** Every other server with a discovery document. */
  list(): readonly OpenApiPeer[];
  /** True if another live server has not published its discovery document, so that absence cannot be concluded. */
  hasUndescribed(): boolean;
  /** Sends a GET to the peer, which returns its local documents; rejects if there is no response. */
  fetch(
    serverId: string,
    target: string,
    headers: readonly string[],
    signal: AbortSignal,
  ): Promise<OpenApiPeerResponse>;
}

export interface OpenApiPeerResponse {
  readonly status: number;
  readonly body: Buffer;
  header(name: string): string | undefined;
}
