/** The port through which OpenAPI lists peers and fetches their documents. */
import type { Candidate } from "../newest.ts";

export interface OpenApiPeer extends Candidate {
  /** Changes when the peer's documents may have changed. */
  readonly documentKey: string;
  /**
   * Whether the peer's discovery document lists the group version. Group versions that have only custom and aggregated
   * resources are not listed.
   */
  hasGroupVersion(group: string, version: string): boolean;
}

export interface OpenApiPeers {
  /** All peers with a discovery document. */
  list(): readonly OpenApiPeer[];
  /**
   * True if a live server has not published its discovery document, or if the live servers are not known yet. A
   * document that no known index lists may then still exist.
   */
  hasUndescribed(): boolean;
  /**
   * Sends a GET to the peer. Evenkeel returns the documents of its built-in resources, a kube-apiserver also those of
   * custom and aggregated resources. Rejects if the peer does not respond.
   */
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
