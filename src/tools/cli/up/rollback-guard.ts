/** Before a server becomes one of an older release: what is stored must not be lost to it. */
import { RELEASES } from "../../../objects/catalogue/release.ts";
import type { JsonObject } from "../../../meta/json.ts";
import { requestReport } from "../request-report.ts";
import { CommandFailure } from "../failure.ts";
import { findingCount, findingsText, rollbackCheckPath } from "../rollback-check.ts";
import type { Backend } from "./load-balancer.ts";
import type { ServerSpec } from "./server-spec.ts";

export interface Rollback {
  readonly id: string;
  readonly from: ServerSpec;
  readonly to: ServerSpec;
  /** Who is asked: any server that runs, for they share the store. */
  readonly through: Backend | undefined;
}

/** Rejects with a CommandFailure that names what stands in the way. */
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
    const attempt = `${id} (${from.text}) would become ${to.text}, which is older`;
    if (through === undefined)
      throw new CommandFailure(
        `${attempt}, and no server runs that could check what is stored: use --force if it is right`,
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
    if (count > 0) throw new CommandFailure(refusal(attempt, count, report), 1);
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
      `${attempt}, and what is stored could not be checked, so it needs --force: ${thrown.message}`,
      1,
    );
  }
}

function refusal(attempt: string, count: number, report: JsonObject): string {
  const which = count === 1 ? "an object is stored that it" : `${count} objects are stored that it`;
  return (
    `${attempt}: ${which} could not use. Nothing was changed; use --force if it is right.\n` +
    findingsText(report, NAMES_SHOWN_MAX).trimEnd()
  );
}
