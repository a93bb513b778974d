/** Who takes part in the agreement on encodings, as the composition root tells. */
export interface AgreementMember {
  readonly id: string;
  /** Servers of one component store the same resources. Default: the one that most are of. */
  readonly component?: string | undefined;
  /** Under its present identity it has published every resource it stores: what it has no entry for it does not store. */
  readonly isPublished: boolean;
}

export interface Members {
  /** Every server whose identity lease lives, this one included; by ID. */
  live(): ReadonlyMap<string, AgreementMember>;
  /**
   * Resolves to true once `live` shows everything that had been written to the store when this was called. Whoever has
   * an entry wrote its lease before: after this, an entry whose server is not in `live` is stale. False: nobody can tell.
   */
  catchUp(): Promise<boolean>;
  /** Called when `live` says something else. The returned function ends it. */
  onChange(listener: () => void): () => void;
}
