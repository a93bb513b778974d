/** Ingresses, network policies, endpoint slices, and addresses. */
import type { KindEntry } from "../kind.ts";

export const NETWORK_KINDS: readonly KindEntry[] = [];
