/** The servers that take part in the agreement on encodings, provided by the composition root. */
export interface AgreementMember {
  readonly id: string;
  /** Servers of one component store the same resources. Undefined for the component of this server. */
  readonly component?: string | undefined;
  /**
   * Whether it has published every resource it stores in its current run: it does not store resources without its
   * entry.
   */
  readonly isPublished: boolean;
}

export interface Members {
  /** Every server with a valid identity lease, this one included; by ID. */
  live(): ReadonlyMap<string, AgreementMember>;
  /**
   * Resolves to true once `live` includes everything that had been written to the store when this was called. A server
   * writes its lease before its entries: after this, an entry whose server is not in `live` is stale. False if that
   * cannot be determined.
   */
  catchUp(): Promise<boolean>;
  /** Called when `live` has changed. The returned function removes the listener. */
  onChange(listener: () => void): () => void;
}
