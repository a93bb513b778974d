/** What is measured without a socket, in a process of its own so that nothing else is compiled or collected there. */

export type Measurement =
  /** Requests per round. */
  | { readonly kind: "filter"; readonly rounds: number; readonly count: number }
  /** Requests per round, of each kind. */
  | { readonly kind: "if-ready"; readonly rounds: number; readonly count: number }
  /** Merges per round. */
  | { readonly kind: "merge"; readonly rounds: number; readonly count: number; readonly documents: Difference };

/** Where the documents of different servers differ: in some group versions, or in every one. */
export type Difference = "some" | "all";

/** One sample for each round: CPU ns per request, or CPU ms per merge. */
export type Samples = readonly number[];

/** By what is asked of whom: CPU ns per request. */
export type IfReadySamples = Readonly<Record<string, Samples>>;
