/** StorageVersionMigration objects in all versions of their API, and their conditions. */
import type { KubernetesObject, ResourceType } from "../../../client/objects.ts";
import { storageVersionName } from "../objects.ts";
import type { MigrationProgress } from "./progress.ts";

interface MigrationCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly observedGeneration?: number;
  /** v1alpha1 has this field instead of lastTransitionTime and observedGeneration. */
  readonly lastUpdateTime?: string;
}

export interface StorageVersionMigration extends KubernetesObject {
  readonly spec?: { readonly resource?: { readonly group?: string; readonly resource?: string } };
  readonly status?: {
    readonly conditions?: readonly MigrationCondition[];
    /** The checkpoint: the newest resourceVersion when the migration began. */
    readonly resourceVersion?: string;
  };
}

type MigrationConditionType = "Running" | "Succeeded" | "Failed";

const MIGRATION_GROUP = "storagemigration.k8s.io";
/** Maximum length of a message. Kubernetes' validation of conditions allows eight times as much. */
const MESSAGE_CHARACTERS_MAX = 4_096;
const FAILURES_LISTED_MAX = 5;

export function migrationType(version: string): ResourceType {
  return { group: MIGRATION_GROUP, version, resource: "storageversionmigrations", namespaced: false };
}

export function migratedResource({ spec }: StorageVersionMigration): { group: string; resource: string } {
  return { group: spec?.resource?.group ?? "", resource: spec?.resource?.resource ?? "" };
}

/** The name of the StorageVersion object of the same resource. */
export function migratedName(object: StorageVersionMigration): string {
  const { group, resource } = migratedResource(object);
  return storageVersionName(group, resource);
}

export function isConditionMet({ status }: StorageVersionMigration, type: MigrationConditionType): boolean {
  return status?.conditions?.some((condition) => condition.type === type && condition.status === "True") ?? false;
}

export function isTerminal(object: StorageVersionMigration): boolean {
  return isConditionMet(object, "Succeeded") || isConditionMet(object, "Failed");
}

/** The migration of a resource to carry out next: one that is running, otherwise the oldest. */
export function nextMigration(objects: readonly StorageVersionMigration[]): StorageVersionMigration | undefined {
  const open = objects.filter((object) => !isTerminal(object));
  const begun = open.filter((object) => isConditionMet(object, "Running"));
  const order = (object: StorageVersionMigration): string =>
    `${object.metadata?.creationTimestamp ?? ""} ${object.metadata?.name ?? ""}`;
  return (begun.length > 0 ? begun : open).sort((left, right) => (order(left) < order(right) ? -1 : 1))[0];
}

export interface Outcome {
  readonly type: MigrationConditionType;
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

/** `now` is RFC 3339 with seconds. */
export function withMigrationConditions(
  object: StorageVersionMigration,
  said: readonly Outcome[],
  now: string,
): StorageVersionMigration {
  let conditions = object.status?.conditions ?? [];
  for (const each of said) {
    const known = conditions.find(({ type }) => type === each.type);
    const condition = toCondition(object, each, { known, now });
    conditions =
      known === undefined
        ? [...conditions, condition]
        : conditions.map((other) => (other === known ? condition : other));
  }
  return { ...object, status: { ...object.status, conditions } };
}

function toCondition(
  { apiVersion, metadata }: StorageVersionMigration,
  said: Outcome,
  { known, now }: { readonly known: MigrationCondition | undefined; readonly now: string },
): MigrationCondition {
  const message = said.message.slice(0, MESSAGE_CHARACTERS_MAX);
  if (apiVersion === `${MIGRATION_GROUP}/v1alpha1`) return { ...said, message, lastUpdateTime: now };
  const isTransition = known?.status !== said.status;
  return {
    ...said,
    message,
    lastTransitionTime: isTransition ? now : (known?.lastTransitionTime ?? now),
    ...(metadata?.generation === undefined ? {} : { observedGeneration: metadata.generation }),
  };
}

export function running(message: string): Outcome {
  return { type: "Running", status: "True", reason: "MigrationRunning", message };
}

export const RUNNING = running("The migration is running");
export const NO_LONGER_RUNNING: Outcome = {
  type: "Running",
  status: "False",
  reason: "MigrationCompleted",
  message: "Migration completed",
};
export const SUCCEEDED: Outcome = {
  type: "Succeeded",
  status: "True",
  reason: "StorageVersionMigrationSucceeded",
  message: "Migration completed",
};

export function failed(message: string): Outcome {
  return { type: "Failed", status: "True", reason: "StorageVersionMigrationFailed", message };
}

/** As kubernetes, which reports no progress between errors, with an estimate of the time that is left. */
export function progressMessage(progress: MigrationProgress): string {
  const { secondsLeft } = progress;
  const estimate = secondsLeft === undefined || secondsLeft === 0 ? "" : `, about ${durationText(secondsLeft)} left`;
  return `${countsMessage(progress)}${estimate}`;
}

export function pausedMessage(progress: MigrationProgress, transientError: string): string {
  return `${countsMessage(progress)}; transient error: ${transientError}`;
}

export function failureMessage({ failed: count, migrated, failures }: MigrationProgress): string {
  const reported = failures.slice(0, FAILURES_LISTED_MAX).map(({ object, message }) => `${object}: ${message}`);
  const more = count > reported.length ? [`and ${count - reported.length} more`] : [];
  const text = [...reported, ...more].join("; ");
  return `${count}/${count + migrated} not yet migrated. migration encountered unhandled error: ${text}`;
}

function countsMessage({ migrated, total }: MigrationProgress): string {
  if ((total ?? migrated) === 0) return RUNNING.message;
  if (total === undefined) return `${RUNNING.message}, ${migrated} objects migrated so far`;
  const counts =
    total === migrated ? `${total} objects verified migrated` : `${total - migrated}/${total} objects not yet migrated`;
  return `${RUNNING.message}, ${counts}`;
}

function durationText(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m${whole % 60}s`;
  return `${Math.floor(whole / 3600)}h${Math.floor((whole % 3600) / 60)}m`;
}
