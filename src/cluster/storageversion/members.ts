/** The servers that take part in the agreement on encodings. The composition root implements this port. */
import type { ImpliedStorage } from "./implied-entries.ts";

export interface AgreementMember {
  readonly id: string;
  /**
   * The component of the server; undefined for the component of this server. Servers of one component store the same
   * resources.
   */
  readonly component?: string | undefined;
  /**
   * Whether the server has published all resources that it stores in its current run. If so, it does not store a
   * resource for which it has no entry.
   */
  readonly isPublished: boolean;
  /** Present for a kube-apiserver whose release is known: the entries that it does not publish follow from it. */
  readonly implied?: ImpliedStorage | undefined;
}

export interface Members {
  /** Every server with a valid identity lease, including this one, by ID. */
  live(): ReadonlyMap<string, AgreementMember>;
  /**
   * Resolves to true once `live` includes every lease that was written to the store before the call, or to false if
   * that cannot be determined. A server writes its lease before its entries. So after this call, an entry that was read
   * before and whose server is not in `live` is stale.
   */
  catchUp(): Promise<boolean>;
  /** Adds a listener that is called when `live` has changed. The returned function removes it. */
  onChange(listener: () => void): () => void;
}
