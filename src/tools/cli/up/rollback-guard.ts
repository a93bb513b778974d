/** Rejects a rollback of a server while objects are stored that the older release could not read or would not serve. */
import { RELEASES } from "../../../objects/catalog/release.ts";
import type { JsonObject } from "../../../meta/json.ts";
import { requestReport } from "../request-report.ts";
import { CommandFailure } from "../failure.ts";
import { findingCount, rollbackFindingsText, rollbackCheckPath } from "../rollback-check.ts";
import type { Backend } from "./load-balancer.ts";
import type { ServerSpec } from "./server-spec.ts";

export interface Rollback {
  readonly id: string;
  readonly from: ServerSpec;
  readonly to: ServerSpec;
  /** The server that checks the stored objects. Any running server can, because all share the store. */
  readonly through: Backend | undefined;
}

/** Throws a CommandFailure that names the objects if the rollback is not allowed. */
export type RollbackGuard = (rollback: Rollback) => Promise<void>;

const NAMES_SHOWN_MAX = 20;

export function createRollbackGuard(options: {
  readonly ca: string;
  readonly token: string;
  readonly featureGates: readonly string[];
}): RollbackGuard {
  const { ca, token, featureGates } = options;
  return async ({ id, from, to, through }) => {
    if (!isOlder(to, from)) return;
    const attempt = `${id} would be rolled back from ${from.text} to ${to.text}`;
    if (through === undefined)
      throw new CommandFailure(
        `${attempt}, and no server is running that could check the stored objects: use --force to skip the check`,
        1,
      );
    const { release, runtimeConfig } = to;
    const connection = { url: `https://${through.host}:${through.port}`, ca, token };
    const target = rollbackCheckPath({ to: release, runtimeConfig, featureGates });
    const report = await explained(
      requestReport(connection, target, () => {}),
      attempt,
    );
    const count = findingCount(report);
    if (count > 0) throw new CommandFailure(rejectionMessage(attempt, count, report), 1);
  };
}

function isOlder(one: ServerSpec, other: ServerSpec): boolean {
  const age = ({ release }: ServerSpec): number => RELEASES.findIndex((name) => name === release);
  return age(one) < age(other);
}

async function explained(asked: Promise<JsonObject>, attempt: string): Promise<JsonObject> {
  try {
    return await asked;
  } catch (thrown) {
    if (!(thrown instanceof CommandFailure)) throw thrown;
    throw new CommandFailure(
      `${attempt}, and the stored objects could not be checked: ${thrown.message}; use --force to skip the check`,
      1,
    );
  }
}

function rejectionMessage(attempt: string, count: number, report: JsonObject): string {
  const which = count === 1 ? "1 stored object" : `${count} stored objects`;
  return (
    `${attempt}, which could not read or would not serve ${which}. Nothing was changed; use --force to roll back anyway.\n` +
    rollbackFindingsText(report, NAMES_SHOWN_MAX).trimEnd()
  );
}
