/** Volumes, claims, classes of storage, and what CSI drivers say. */
import type { KindEntry } from "../kind.ts";

export const STORAGE_KINDS: readonly KindEntry[] = [];
