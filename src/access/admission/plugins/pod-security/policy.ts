/** Parses the pod security labels of a namespace. */
import { invalidValue } from "../../../../meta/field-errors.ts";
import { stringAt, type JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";

type PodSecurityLevel = "privileged" | "baseline" | "restricted";

/** The levels in ascending order of strictness. */
const LEVELS: readonly PodSecurityLevel[] = ["privileged", "baseline", "restricted"];

export interface LevelVersion {
  readonly level: PodSecurityLevel;
  /** The x of version v1.x; undefined for "latest". */
  readonly minor: number | undefined;
}

export interface PodSecurityPolicy {
  readonly enforce: LevelVersion;
  readonly audit: LevelVersion;
  readonly warn: LevelVersion;
}

export const UNLIMITED: LevelVersion = { level: "privileged", minor: undefined };
const PREFIX = "pod-security.kubernetes.io/";

export function formatLevelVersion({ level, minor }: LevelVersion): string {
  return `${level}:${minor === undefined ? "latest" : `v1.${minor}`}`;
}

export function isSameLevelVersion(left: LevelVersion, right: LevelVersion): boolean {
  return left.level === right.level && left.minor === right.minor;
}

export function isStricter(level: PodSecurityLevel, than: PodSecurityLevel): boolean {
  return LEVELS.indexOf(level) > LEVELS.indexOf(than);
}

/**
 * Labels override the defaults. If a level is invalid, the mode enforce uses restricted, and audit and warn use
 * privileged.
 */
export function policyOf(
  labels: JsonObject,
  defaults: PodSecurityPolicy,
): {
  readonly policy: PodSecurityPolicy;
  readonly errors: readonly FieldError[];
} {
  const errors: FieldError[] = [];
  const mode = (name: keyof PodSecurityPolicy, whenWrong: PodSecurityLevel): LevelVersion => {
    const { level, minor } = defaults[name];
    return {
      level: Object.hasOwn(labels, `${PREFIX}${name}`)
        ? (readLevel(labels, `${PREFIX}${name}`, errors) ?? whenWrong)
        : level,
      minor: Object.hasOwn(labels, `${PREFIX}${name}-version`)
        ? readMinor(labels, `${PREFIX}${name}-version`, errors)
        : minor,
    };
  };
  const enforce = mode("enforce", "restricted");
  const audit = mode("audit", "privileged");
  const warn = mode("warn", "privileged");
  return { policy: { enforce, audit, warn: warnOrEnforced(labels, enforce, warn) }, errors };
}

/** If enforce is set and warn is not, warnings are returned for the level of enforce. */
function warnOrEnforced(labels: JsonObject, enforce: LevelVersion, warn: LevelVersion): LevelVersion {
  const isEnforced = LEVELS.some((level) => level === labels[`${PREFIX}enforce`]);
  if (Object.hasOwn(labels, `${PREFIX}warn`) || !isEnforced || !isStricter(enforce.level, warn.level)) return warn;
  return { level: enforce.level, minor: Object.hasOwn(labels, `${PREFIX}warn-version`) ? warn.minor : enforce.minor };
}

/** Undefined if the level is invalid. */
function readLevel(labels: JsonObject, label: string, errors: FieldError[]): PodSecurityLevel | undefined {
  const text = stringAt(labels, label);
  const level = parseLevel(text);
  if (level === undefined) errors.push(labelError(label, text, `must be one of ${LEVELS.join(", ")}`));
  return level;
}

function readMinor(labels: JsonObject, label: string, errors: FieldError[]): number | undefined {
  const text = stringAt(labels, label);
  if (text === "latest") return undefined;
  const minor = parseMinor(text);
  if (minor === undefined) errors.push(labelError(label, text, 'must be "latest" or "v1.x"'));
  return minor;
}

export function parseLevel(text: string): PodSecurityLevel | undefined {
  return LEVELS.find((level) => level === text);
}

/** The x of v1.x; undefined for other texts. */
export function parseMinor(text: string): number | undefined {
  const minor = Number(/^v1\.([0-9]|[1-9][0-9]*)$/.exec(text)?.[1]);
  return Number.isSafeInteger(minor) ? minor : undefined;
}

/** The modes that the labels set to another level than privileged, such as "enforce=baseline:latest, warn=…". */
export function labelledModes(labels: JsonObject, policy: PodSecurityPolicy): string {
  return (["enforce", "audit", "warn"] as const)
    .filter((mode) => policy[mode].level !== "privileged")
    .filter((mode) => [mode, `${mode}-version`].some((name) => Object.hasOwn(labels, `${PREFIX}${name}`)))
    .map((mode) => `${mode}=${formatLevelVersion(policy[mode])}`)
    .join(", ");
}

export function isFullyPrivileged({ enforce, audit, warn }: PodSecurityPolicy): boolean {
  return [enforce, audit, warn].every(({ level }) => level === "privileged");
}

function labelError(label: string, value: string, why: string): FieldError {
  return invalidValue(`metadata.labels[${label}]`, value, why);
}
