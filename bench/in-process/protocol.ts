/**
 * The measurements that call functions without sockets. They run in a separate process, so that the compilation and
 * garbage of other code do not affect them.
 */

export type Measurement =
  /** Requests per round. */
  | { readonly kind: "filter"; readonly rounds: number; readonly count: number }
  /** Requests per round and case. */
  | { readonly kind: "if-ready"; readonly rounds: number; readonly count: number }
  /** Operations per round and case. */
  | { readonly kind: "encryption"; readonly rounds: number; readonly count: number }
  /** Lists per round and case. */
  | { readonly kind: "defaults"; readonly rounds: number; readonly count: number }
  /** Merges per round. */
  | { readonly kind: "merge"; readonly rounds: number; readonly count: number; readonly documents: Difference };

/** How the documents of different servers differ: in some group versions, or in all. */
export type Difference = "some" | "all";

/** One sample per round: CPU ns per request, or CPU ms per merge. */
export type Samples = readonly number[];

/** CPU µs per object, without and with defaults on read, by case. */
export type DefaultsSamples = Readonly<Record<string, readonly { readonly floor: number; readonly ours: number }[]>>;

/** CPU ns per request, by case. */
export type IfReadySamples = Readonly<Record<string, Samples>>;

/** CPU ns per operation that encryption adds, by case. */
export type EncryptionSamples = Readonly<Record<string, Samples>>;
