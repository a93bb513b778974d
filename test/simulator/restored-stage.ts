/** A store that tests write to, back up and restore, with checkers that observe it, and without servers. */
import type { CommitResult } from "../../src/storage/kv.ts";
import type { StoreBackup } from "../../src/storage/kv-memory/store.ts";
import { openCatalog } from "../../src/objects/catalog/catalog.ts";
import type { GuaranteeChecker } from "../../src/tools/simulator/checker.ts";
import { STORE_ROOT, StoreHistory } from "../../src/tools/simulator/history.ts";
import { Host } from "../../src/tools/simulator/host.ts";
import type { Run } from "../../src/tools/simulator/server.ts";
import { World } from "../../src/tools/simulator/world.ts";
import { EncodingRecord } from "./encoding-record.ts";
import { ObjectRecord } from "./object-record.ts";
import { VersionRecord } from "./version-record.ts";

export class RestoredStage {
  readonly world = new World({ seed: 1 });
  readonly history = new StoreHistory({
    clock: this.world.clock,
    kv: this.world.openKv(),
    onFailure: (thrown) => {
      throw thrown;
    },
  });
  readonly runs: Run[] = [];
  readonly objects = new ObjectRecord(this.history);
  readonly encodings = new EncodingRecord({ history: this.history, runs: this.runs, fenceAfterMs: 10_000 });
  readonly versions = new VersionRecord(this.history);
  readonly #kv = this.world.openKv();
  readonly #found: string[] = [];

  /** Adds a run of a server of release 1.35, of which only the facts that checkers use exist. */
  addRun(serverId: string): Run {
    const random = this.world.randomFor(serverId);
    const host = new Host({ name: serverId, clock: this.world.clock, random });
    const catalog = openCatalog({ release: "1.35" });
    const run: Partial<Run> = {
      ...{ serverId, release: "1.35", host, server: { catalog } as Run["server"] },
      ...{ readyAtMs: 0, endedAtMs: undefined, troubledUntilMs: -1, troubledSinceMs: undefined },
    };
    this.runs.push(run as Run);
    return run as Run;
  }

  observe(checker: GuaranteeChecker): void {
    this.history.onCommit((commit) => void this.#found.push(...(checker.onCommit?.(commit) ?? [])));
    this.history.onRestore((restore) => void this.#found.push(...(checker.onRestore?.(restore) ?? [])));
  }

  /** Writes an object; undefined deletes it. Without a run, a client of the store writes it. */
  async write(name: string, object: object | undefined, run?: Run): Promise<void> {
    const key = `${STORE_ROOT}${name}`;
    const expectedRevision = (await this.#kv.range({ start: key })).items[0]?.modRevision ?? 0;
    const change =
      object === undefined
        ? ({ kind: "delete", key, expectedRevision } as const)
        : ({ kind: "put", key, value: Buffer.from(JSON.stringify(object)), expectedRevision } as const);
    const commit = (): Promise<CommitResult> => this.#kv.commit(change);
    const { history } = this;
    await (run === undefined ? commit() : history.arrival(history.departure(run), commit));
  }

  backUp(): StoreBackup {
    return this.world.backUpStore();
  }

  restore(backup: StoreBackup): void {
    this.history.restore(backup, () => this.world.restoreStore(backup));
  }

  /** The violations that the observed checkers have reported since the last call. */
  takeFound(): string[] {
    return this.#found.splice(0);
  }
}
