/** Pods, and templates of pods. */
import type { Kind, KindEntry } from "../kind.ts";

const POD: Kind = {
  prepareCreate(pod) {
    pod["status"] = { phase: "Pending" };
  },
};

export const POD_KINDS: readonly KindEntry[] = [["/Pod", POD]];
