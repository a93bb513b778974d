/** Checks that the informers of clients have no object of a lost history of the store, and no outdated object at the end. */
import { NO_VIOLATIONS, type GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";
import type { Run } from "../../../src/tools/simulator/server.ts";
import { INFORMED_PREFIX, type InformerClients } from "../informer-clients.ts";
import type { VersionRecord } from "../version-record.ts";

/** A client of a healthy server has listed again within this time of a restore. */
const RECOVERED_WITHIN_MS = 15_000;

export interface InformersRecoverOptions {
  readonly runs: readonly Run[];
  readonly informers: Pick<InformerClients, "copyOf">;
  readonly versions: Pick<VersionRecord, "wasCurrent" | "currentUnder">;
}

export function informersRecover({ runs, informers, versions }: InformersRecoverOptions): GuaranteeChecker {
  /** Time of the last restore, until it has been judged. */
  let restoredAtMs: number | undefined;
  const judge = (fromMs: number, toMs: number): string[] =>
    runs
      .filter(({ endedAtMs, troubledUntilMs }) => endedAtMs === undefined && troubledUntilMs < fromMs)
      .flatMap((run) =>
        [...(informers.copyOf(run) ?? [])]
          .filter(([key, version]) => !versions.wasCurrent(key, version, { fromMs, toMs }))
          .map(
            ([key, version]) =>
              `the client of ${run.serverId} has ${key} at version ${version}, which the restored store did not have`,
          ),
      );
  return {
    name: "informers-recover",
    promise: "After a restore of the store, the informers of clients have the objects of the new history.",
    onRestore({ atMs }) {
      restoredAtMs = atMs;
      return NO_VIOLATIONS;
    },
    onResponse({ atMs }) {
      if (restoredAtMs === undefined || atMs < restoredAtMs + RECOVERED_WITHIN_MS) return NO_VIOLATIONS;
      const fromMs = restoredAtMs;
      restoredAtMs = undefined;
      return judge(fromMs, atMs);
    },
    async whenSettled({ live }) {
      const stored = textOf(versions.currentUnder(INFORMED_PREFIX));
      return live
        .flatMap(({ run }) => run ?? [])
        .map((run) => ({ run, copy: textOf([...(informers.copyOf(run) ?? [])]) }))
        .filter(({ copy }) => copy !== stored)
        .map(({ run, copy }) => `the client of ${run.serverId} has ${copy}, the store has ${stored}`);
    },
  };
}

function textOf(versions: readonly (readonly [key: string, resourceVersion: string])[]): string {
  const texts = versions.map(([key, version]) => `${key}=${version}`);
  return texts.sort().join(" ");
}
