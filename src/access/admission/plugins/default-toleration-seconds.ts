/** Adds default tolerations for not-ready and unreachable nodes, so that a pod survives a short outage of its node. */
import { objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { AdmissionPlugin } from "../admission.ts";
import { CREATE_AND_UPDATE, handlesOnly } from "./handled-writes.ts";

export interface DefaultTolerationOptions {
  /** The value of --default-not-ready-toleration-seconds. */
  readonly notReadySeconds: number;
  /** The value of --default-unreachable-toleration-seconds. */
  readonly unreachableSeconds: number;
}

export const TOLERATION_SECONDS_DEFAULT = 300;

export function defaultTolerationSeconds({
  notReadySeconds,
  unreachableSeconds,
}: DefaultTolerationOptions): AdmissionPlugin {
  const defaults = [
    toleration("node.kubernetes.io/not-ready", notReadySeconds),
    toleration("node.kubernetes.io/unreachable", unreachableSeconds),
  ];
  return {
    name: "DefaultTolerationSeconds",
    handles: handlesOnly({ group: "", resource: "pods", operations: CREATE_AND_UPDATE }),
    mutate({ object: pod }) {
      const spec = objectAt(pod, "spec");
      const tolerations = objectsAt(spec, "tolerations");
      const missing = defaults.filter(({ key }) => !tolerations.some((known) => tolerates(known, key)));
      if (missing.length === 0) return undefined;
      const added = missing.map((one) => ({ ...one }));
      return { ...pod, spec: { ...spec, tolerations: [...tolerations, ...added] } };
    },
  };
}

function toleration(key: string, tolerationSeconds: number): JsonObject & { readonly key: string } {
  return { key, operator: "Exists", effect: "NoExecute", tolerationSeconds };
}

function tolerates(known: JsonObject, key: string): boolean {
  return ["", key].includes(stringAt(known, "key")) && ["", "NoExecute"].includes(stringAt(known, "effect"));
}
