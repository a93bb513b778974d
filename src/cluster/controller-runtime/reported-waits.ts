/**
 * The waits of the running controllers, which the leader publishes in an annotation of its lease. Without the
 * annotation, only the leader could show them, and `evenkeel status` asks any server.
 */
import { isJsonObject, stringAt } from "../../meta/json.ts";

export interface ReportedWait {
  /** A resource that a controller cannot read, or an object that a controller cannot keep as it should be. */
  readonly kind: "resource" | "object";
  /** Such as "widgets.example.com" or "configmaps default/kube-root-ca.crt". */
  readonly name: string;
  /** When the wait began, by the clock of the leader. */
  readonly since: string;
  readonly because: string;
}

/** Waits, and the number of further waits that are not listed. */
export interface ReportedWaits {
  readonly waits: readonly ReportedWait[];
  readonly hidden: number;
}

export const WAITS_ANNOTATION = "evenkeel.io/controllers-wait-for";

/** A lease is written every second, so its annotation is short. */
const WAITS_MAX = 10;
const TEXT_LENGTH_MAX = 300;
const ANNOTATION_LENGTH_MAX = 16_384;
const NOTHING: ReportedWaits = { waits: [], hidden: 0 };

/** The value of the annotation; undefined if there are no waits. The longest waits are listed. */
export function encodeWaits(waits: readonly ReportedWait[]): string | undefined {
  if (waits.length === 0) return undefined;
  const listed = waits
    .toSorted((left, right) => compare(left.since, right.since) || compare(left.name, right.name))
    .slice(0, WAITS_MAX)
    .map(({ kind, name, since, because }) => ({ kind, name: short(name), since, because: short(because) }));
  const hidden = waits.length - listed.length;
  return JSON.stringify({ waits: listed, ...(hidden > 0 ? { hidden } : {}) });
}

/** Ignores everything that `encodeWaits` would not write, because other clients can write leases as well. */
export function decodeWaits(annotation: unknown): ReportedWaits {
  if (typeof annotation !== "string" || annotation.length > ANNOTATION_LENGTH_MAX) return NOTHING;
  let decoded: unknown;
  try {
    decoded = JSON.parse(annotation);
  } catch {
    return NOTHING;
  }
  if (!isJsonObject(decoded) || !Array.isArray(decoded["waits"])) return NOTHING;
  const { hidden } = decoded;
  return {
    waits: decoded["waits"].slice(0, WAITS_MAX).flatMap(toWait),
    hidden: typeof hidden === "number" && hidden > 0 ? hidden : 0,
  };
}

function toWait(value: unknown): ReportedWait[] {
  if (!isJsonObject(value)) return [];
  const { kind } = value;
  if (kind !== "resource" && kind !== "object") return [];
  const text = (field: string): string => short(stringAt(value, field));
  return [{ kind, name: text("name"), since: text("since"), because: text("because") }];
}

function short(text: string): string {
  return text.length > TEXT_LENGTH_MAX ? `${text.slice(0, TEXT_LENGTH_MAX)}…` : text;
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
