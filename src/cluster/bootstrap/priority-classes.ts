/** The priority classes of components that a cluster cannot run without. */
import type { Serves } from "./served-version.ts";
import type { OwnedObject } from "./owned-object.ts";

/** As kubernetes SystemCriticalPriority. */
const SYSTEM_CRITICAL = 2_000_000_000;

export function systemPriorityClasses(serves: Serves): OwnedObject[] {
  const at = serves("scheduling.k8s.io", "priorityclasses");
  if (at === undefined) return [];
  const classes = [
    {
      name: "system-node-critical",
      value: SYSTEM_CRITICAL + 1000,
      description: "For pods that must run, and must run on the node they are on.",
    },
    {
      name: "system-cluster-critical",
      value: SYSTEM_CRITICAL,
      description: "For pods that must run, on whichever node.",
    },
  ];
  return classes.map(({ name, value, description }) => ({
    at,
    object: {
      apiVersion: at.apiVersion,
      kind: "PriorityClass",
      metadata: { name },
      value,
      description,
      preemptionPolicy: "PreemptLowerPriority",
    },
  }));
}
