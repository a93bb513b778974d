/** The quality of service that a pod's requests and limits amount to. */
import { objectAt, type JsonObject } from "../../meta/json.ts";
import { containersAt } from "./ephemeral-containers.ts";

export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

const COUNTED = ["cpu", "memory"] as const;

export function qosClass(pod: JsonObject): QosClass {
  const containers = [...containersAt(pod, "containers"), ...containersAt(pod, "initContainers")].map(amountsOf);
  if (containers.every(({ requests, limits }) => COUNTED.every((name) => requests[name] === 0n && limits[name] === 0n)))
    return "BestEffort";
  const isGuaranteed = containers.every(({ requests, limits }) =>
    COUNTED.every((name) => limits[name] > 0n && limits[name] === requests[name]),
  );
  return isGuaranteed ? "Guaranteed" : "Burstable";
}

type Amounts = Record<(typeof COUNTED)[number], bigint>;

function amountsOf(container: JsonObject): { readonly requests: Amounts; readonly limits: Amounts } {
  const resources = objectAt(container, "resources");
  const limits = objectAt(resources, "limits");
  // Who names a limit and no request requests the limit.
  const requests = { ...limits, ...objectAt(resources, "requests") };
  const amounts = (from: JsonObject): Amounts => ({ cpu: nanos(from["cpu"]), memory: nanos(from["memory"]) });
  return { requests: amounts(requests), limits: amounts(limits) };
}

const QUANTITY = /^\+?(\d{0,30})(?:\.(\d{0,30}))?(?:(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE])|[eE]([+-]?\d{1,2}))?$/;
const DECIMAL_EXPONENTS: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const BINARY_PREFIXES = "KMGTPE";
const NANO_EXPONENT = 9;

/** Billionths, rounded down; what is no quantity, or a negative one, counts as nothing. */
function nanos(value: unknown): bigint {
  const match = QUANTITY.exec(String(value ?? ""));
  if (match === null) return 0n;
  const [, whole = "", fraction = "", suffix = "", exponent = "0"] = match;
  const isBinary = suffix.endsWith("i");
  const digits =
    BigInt(`0${whole}${fraction}`) * (isBinary ? 1024n ** BigInt(BINARY_PREFIXES.indexOf(suffix[0]!) + 1) : 1n);
  const shift = NANO_EXPONENT - fraction.length + Number(exponent) + (isBinary ? 0 : (DECIMAL_EXPONENTS[suffix] ?? 0));
  return shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift);
}
