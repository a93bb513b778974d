/**
 * Migrates one resource, with as many passes as needed until the StorageVersion object was the same before and after a
 * pass. Only then is every object known to be stored in the agreed version. A pass during which the object changed
 * proves nothing, even if the agreement is the same again. Results and position are recorded in the state.
 */
import type { Log } from "../../../base/log.ts";
import { messageOf } from "../../../base/within.ts";
import { timestampAt } from "../../../meta/timestamp.ts";
import type { AgreedVersion } from "./agreed-version.ts";
import { isNewer, readAgreement, type Agreement, type AgreementWatch } from "./agreement-watch.ts";
import { PASSES_MAX, PROGRESS_INTERVAL_MS, RESTLESS_PAUSE_MS } from "./migration-limits.ts";
import type { MigrationMetrics } from "./metrics.ts";
import { migrateResource, pausedBy, type Engine, type PassOutcome } from "./migrate-resource.ts";
import type { ServedType } from "./object-pages.ts";
import { patiently } from "./retry-request.ts";
import { BEGINNING, type MigrationProgress, type Position } from "./progress.ts";
import {
  storedPosition,
  UNKNOWN_VERSION,
  withPersisted,
  type MigrationRecord,
  type StorageState,
  type Verification,
} from "./state-value.ts";
import type { StorageStates } from "./storage-state.ts";

interface MigrationTools {
  readonly engine: Engine;
  readonly states: StorageStates;
  readonly watch: AgreementWatch;
  readonly metrics: MigrationMetrics;
  readonly log: Log;
}

interface MigrationJob {
  /** The name of the StorageVersion object. */
  readonly name: string;
  readonly type: ServedType;
  /** The migration object or mode that runs the migration: only a position with the same owner is resumed. */
  readonly owner: string;
  /** Undefined if the migration needs no agreement, because the resource has no StorageVersion object. */
  readonly agreed: AgreedVersion | undefined;
  /** Objects newer than this resourceVersion are skipped, provided that the agreement is older than it. */
  readonly checkpoint?: string | undefined;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: MigrationProgress) => Promise<void>;
}

/** The outcome, with the agreement under which the migration ended. */
export type MigrationOutcome = PassOutcome & { readonly agreed: AgreedVersion | undefined };

export function runMigration(tools: MigrationTools, job: MigrationJob): Promise<MigrationOutcome> {
  return new MigrationRun(tools, job).run();
}

class MigrationRun {
  readonly #tools: MigrationTools;
  readonly #job: MigrationJob;
  readonly #startTime: string;
  #agreed: AgreedVersion | undefined;
  #position: Position = BEGINNING;
  #savedAtMs: number;
  #counted = { migrated: 0, failed: 0 };

  constructor(tools: MigrationTools, job: MigrationJob) {
    this.#tools = tools;
    this.#job = job;
    this.#agreed = job.agreed;
    this.#startTime = timestampAt(tools.engine.clock.now());
    this.#savedAtMs = tools.engine.clock.monotonic();
  }

  async run(): Promise<MigrationOutcome> {
    const { name, agreed } = this.#job;
    const watched = agreed === undefined ? undefined : this.#tools.watch.begin(name, agreed);
    try {
      await this.#begin("resume");
      this.#tools.log.info("storage migration started", {
        resource: name,
        version: agreed?.version,
        migrated: this.#position.migrated,
      });
      for (let passes = 1; ; passes++) {
        const outcome = await this.#pass(watched?.lost ?? new AbortController().signal);
        if (outcome.kind !== "done") return await this.#finish(outcome);
        const judged = await this.#judge(outcome);
        if (judged.kind !== "renewed") return await this.#finish(judged);
        if (passes >= PASSES_MAX) return await this.#finish(restless(outcome));
        this.#agreed = judged.agreed;
        watched?.renew(judged.agreed);
        await this.#begin("anew");
      }
    } finally {
      watched?.end();
    }
  }

  async #pass(lost: AbortSignal): Promise<PassOutcome> {
    const { type, checkpoint, signal } = this.#job;
    const isCheckpointOfAgreement =
      checkpoint !== undefined &&
      (this.#agreed === undefined || isNewer(checkpoint, this.#agreed.resourceVersion) === true);
    this.#counted = { migrated: this.#position.migrated, failed: this.#position.failed };
    const outcome = await migrateResource(this.#tools.engine, {
      type,
      resumeAt: this.#position,
      checkpoint: isCheckpointOfAgreement ? checkpoint : undefined,
      checkAgreement: async () => this.#isSame(await this.#agreement()),
      lost,
      signal,
      onPage: (progress) => this.#onPage(progress),
    });
    this.#count(outcome.progress);
    return outcome;
  }

  /** Decides what a pass that is done proves. */
  async #judge(
    outcome: PassOutcome,
  ): Promise<PassOutcome | { readonly kind: "renewed"; readonly agreed: AgreedVersion }> {
    const { clock, random } = this.#tools.engine;
    const { progress } = outcome;
    const attempted = await patiently({ clock, random, signal: this.#job.signal }, () => this.#agreement());
    if (attempted.kind !== "answered") return { ...pausedBy(attempted), progress };
    const now = attempted.value;
    if (!this.#isSame(now)) return { kind: "aborted", progress };
    if (now.kind !== "agreed" || now.agreed.resourceVersion === this.#agreed?.resourceVersion) return outcome;
    return { kind: "renewed", agreed: now.agreed };
  }

  #agreement(): Promise<Agreement> {
    return readAgreement(this.#tools.engine.client, this.#job.name, this.#job.signal);
  }

  #isSame(now: Agreement): boolean {
    if (this.#agreed === undefined) return now.kind === "absent";
    return now.kind === "agreed" && now.agreed.version === this.#agreed.version;
  }

  /** Records in the state that objects may be stored in the agreed version, before any object is written in it. */
  async #begin(how: "resume" | "anew"): Promise<void> {
    const { states } = this.#tools;
    const { name, owner } = this.#job;
    const version = this.#agreed?.version ?? UNKNOWN_VERSION;
    const resourceVersion = this.#agreed?.resourceVersion ?? "";
    await states.update(name, (state) => {
      const { verified, migration: known, ...rest } = state;
      const isOurs = known?.owner === owner && known.version === version && known.resourceVersion === resourceVersion;
      const isResumed = how === "resume" && isOurs && known.result === "Running";
      this.#position = isResumed ? known.position : BEGINNING;
      const migration = {
        owner,
        version,
        resourceVersion,
        startTime: isOurs ? known.startTime : this.#startTime,
        result: "Running",
        position: this.#position,
        ...(isResumed && known.total !== undefined ? { total: known.total } : {}),
      } as const;
      const noted =
        this.#agreed === undefined
          ? { ...rest, ...(verified === undefined ? {} : { verified }) }
          : noteVersion(rest, verified, this.#agreed);
      return { ...noted, lastHeartbeatTime: this.#startTime, migration };
    });
  }

  async #onPage(progress: MigrationProgress): Promise<void> {
    const { engine, log } = this.#tools;
    this.#count(progress);
    const nowMs = engine.clock.monotonic();
    if (nowMs - this.#savedAtMs < PROGRESS_INTERVAL_MS) return;
    this.#savedAtMs = nowMs;
    try {
      await this.#save(progress.position, progress.total);
      await this.#job.onProgress?.(progress);
    } catch (thrown) {
      // The migration continues: without the record, the next leader only repeats some work.
      log.warn("storage migration progress not recorded", {
        resource: this.#job.name,
        error: messageOf(thrown),
      });
    }
  }

  #save(position: Position, total: number | undefined): Promise<void> {
    return this.#changeRecord((record) => ({
      ...record,
      position: storedPosition(position),
      ...(total === undefined ? {} : { total }),
    }));
  }

  /** Records the failure for people; a failed migration is not resumed. */
  #saveFailure({ migrated, failed, failures }: MigrationProgress): Promise<void> {
    const position = storedPosition({ continueToken: "", migrated, failed, failures });
    return this.#changeRecord((record) => ({ ...record, result: "Failed", position, total: migrated + failed }));
  }

  #changeRecord(change: (record: MigrationRecord) => MigrationRecord): Promise<void> {
    return this.#change((state) =>
      state.migration === undefined ? state : { ...state, migration: change(state.migration) },
    );
  }

  /** Changes the state, unless another migration of the resource has stored its position in it. */
  #change(change: (state: StorageState) => StorageState): Promise<void> {
    const { name, owner } = this.#job;
    return this.#tools.states.update(name, (state) => (state.migration?.owner === owner ? change(state) : state));
  }

  async #finish(outcome: PassOutcome): Promise<MigrationOutcome> {
    const { name } = this.#job;
    const { log, metrics } = this.#tools;
    const { migrated, failed } = outcome.progress;
    const facts = { resource: name, version: this.#agreed?.version, migrated, failed };
    switch (outcome.kind) {
      case "done":
        if (failed === 0) await this.#verified();
        else await this.#saveFailure(outcome.progress);
        metrics.migrations.with(name, failed === 0 ? "succeeded" : "failed").inc();
        log.info(failed === 0 ? "storage migration succeeded" : "storage migration left objects behind", facts);
        break;
      case "aborted":
        await this.#change(({ migration: _migration, ...state }) => state);
        metrics.migrations.with(name, "aborted").inc();
        log.warn("storage migration aborted: the servers' storage versions changed", facts);
        break;
      case "refused":
        await this.#change(({ migration: _migration, ...state }) => state);
        metrics.migrations.with(name, "failed").inc();
        log.warn("storage migration failed", { ...facts, why: outcome.why });
        break;
      case "paused":
        await this.#save(outcome.progress.position, outcome.progress.total);
        log.warn("storage migration paused", { ...facts, why: outcome.why, retryAfterMs: outcome.retryAfterMs });
        break;
      case "stopped":
      // Nothing is recorded: another process may have taken over, and continues from the last recorded position.
    }
    return { ...outcome, agreed: this.#agreed };
  }

  async #verified(): Promise<void> {
    const { engine, states } = this.#tools;
    const { name, owner } = this.#job;
    const agreed = this.#agreed;
    if (agreed === undefined) return this.#change(({ migration: _migration, ...state }) => state);
    const now = timestampAt(engine.clock.now());
    // The record of another migration of the resource stays, because that migration has not proven anything yet.
    await states.update(name, ({ migration, ...state }) => ({
      ...verifiedState(state, agreed, now),
      ...(migration === undefined || migration.owner === owner ? {} : { migration }),
    }));
  }

  #count({ migrated, failed, total }: MigrationProgress): void {
    const { name } = this.#job;
    const { objects, progress } = this.#tools.metrics;
    objects.with(name, "migrated").inc(Math.max(0, migrated - this.#counted.migrated));
    objects.with(name, "failed").inc(Math.max(0, failed - this.#counted.failed));
    this.#counted = { migrated, failed };
    if (total !== undefined) progress.with(name).set(total === 0 ? 1 : migrated / total);
  }
}

/** Records the agreed version as possibly stored, and drops a verification that was made under another agreement. */
function noteVersion(
  state: StorageState,
  verified: Verification | undefined,
  { version, resourceVersion }: AgreedVersion,
): StorageState {
  const current = { ...state, currentVersion: version };
  if (verified?.resourceVersion === resourceVersion) return { ...current, verified };
  return withPersisted(current, verified === undefined ? [version] : [version, UNKNOWN_VERSION]);
}

/** Records that every object is stored in the agreed version. */
export function verifiedState(state: StorageState, agreed: AgreedVersion, time: string): StorageState {
  const { version, resourceVersion, since } = agreed;
  return {
    ...state,
    persistedVersions: [version],
    currentVersion: version,
    lastHeartbeatTime: time,
    verified: { resourceVersion, since, time },
  };
}

function restless({ progress }: PassOutcome): PassOutcome {
  return {
    kind: "paused",
    why: "the StorageVersion object keeps changing",
    retryAfterMs: RESTLESS_PAUSE_MS,
    progress: { ...progress, position: BEGINNING },
  };
}
