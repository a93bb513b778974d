/**
 * Converts PriorityLevelConfigurations, whose versions differ in the name of the concurrency shares and in the meaning
 * of zero shares.
 */
import { changeAnnotations, renameMembers, updateObject } from "./members.ts";
import { annotationsOf, objectAt, type JsonObject } from "../../meta/json.ts";
import type { KindShapes } from "./shapes.ts";

const GROUP = "flowcontrol.apiserver.k8s.io";

/** Marks that 0 shares are intended in v1beta3 and earlier versions, in which 0 shares otherwise mean the default. */
const PRESERVE_ZERO_SHARES = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

const DEFAULT_CONCURRENCY_SHARES = 30;

/** v1beta3 is the hub, because its annotation preserves zero shares in the earlier versions too. */
export const FLOWCONTROL_SHAPES: readonly KindShapes[] = Object.freeze([
  {
    kinds: ["FlowSchema"],
    hub: ["v1", "v1beta3", "v1beta2", "v1beta1", "v1alpha1"].map((version) => `${GROUP}/${version}`),
    spokes: [],
  },
  {
    kinds: ["PriorityLevelConfiguration"],
    hub: [`${GROUP}/v1beta3`],
    spokes: [
      { versions: [`${GROUP}/v1`], toHub: markZeroShares, fromHub: resolveZeroShares },
      {
        versions: ["v1beta2", "v1beta1", "v1alpha1"].map((version) => `${GROUP}/${version}`),
        toHub: (level) => renameShares(level, { assuredConcurrencyShares: "nominalConcurrencyShares" }),
        fromHub: (level) => renameShares(level, { nominalConcurrencyShares: "assuredConcurrencyShares" }),
      },
    ],
  },
]);

function renameShares(level: JsonObject, names: Readonly<Record<string, string>>): JsonObject {
  return updateObject(level, "spec", (spec) =>
    updateObject(spec, "limited", (limited) => renameMembers(limited, names)),
  );
}

function markZeroShares(level: JsonObject): JsonObject {
  const { nominalConcurrencyShares } = objectAt(objectAt(level, "spec"), "limited");
  if (nominalConcurrencyShares !== 0) return level;
  return changeAnnotations(level, { [PRESERVE_ZERO_SHARES]: "" });
}

function resolveZeroShares(level: JsonObject): JsonObject {
  if (Object.hasOwn(annotationsOf(level), PRESERVE_ZERO_SHARES)) {
    return changeAnnotations(level, { [PRESERVE_ZERO_SHARES]: undefined });
  }
  return updateObject(level, "spec", (spec) =>
    updateObject(spec, "limited", (limited) => {
      if (limited["nominalConcurrencyShares"] !== 0) return limited;
      return { ...limited, nominalConcurrencyShares: DEFAULT_CONCURRENCY_SHARES };
    }),
  );
}
