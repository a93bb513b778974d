/** What OpenAPI needs of other servers: declared here, implemented by whoever knows them. */
import type { Candidate } from "../newest.ts";

export interface OpenApiPeer extends Candidate {
  /** Another one when its documents may have changed. */
  readonly documentKey: string;
  hasGroupVersion(group: string, version: string): boolean;
}

export interface OpenApiPeers {
  /** Every other server that has been described. */
  list(): readonly OpenApiPeer[];
  /** There is another live server of which nothing is known yet, so that nobody can say what does not exist. */
  hasUndescribed(): boolean;
  /** GET on that peer, which answers with its local documents; rejects when there is no answer. */
  fetch(serverId: string, target: string, headers: readonly string[], signal: AbortSignal): Promise<OpenApiPeerAnswer>;
}

export interface OpenApiPeerAnswer {
  readonly status: number;
  readonly body: Buffer;
  header(name: string): string | undefined;
}
