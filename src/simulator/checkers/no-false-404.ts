import type { Run } from "../server.ts";
import { NOTHING, type Answer, type Checker } from "../checker.ts";
import { parseGroupVersion } from "../../meta/group-version.ts";

/** Clocks of servers run up to this much faster than the world's. */
const DRIFT_MAX = 0.02;

export interface NoFalse404Options {
  /** All there were so far. */
  readonly runs: readonly Run[];
  readonly departedGraceMs: number;
}

/** Whoever serves it lives, or has left so short a time ago that it must be called unavailable. */
export function noFalse404({ runs, departedGraceMs }: NoFalse404Options): Checker {
  const graceMs = departedGraceMs * (1 - DRIFT_MAX);
  const isThere = ({ question, atMs }: Answer, afterEndMs: number) => {
    return ({ readyAtMs, endedAtMs }: Run): boolean =>
      readyAtMs !== undefined && readyAtMs <= question.startedAtMs && atMs < (endedAtMs ?? Infinity) + afterEndMs;
  };
  return {
    name: "no-false-404",
    promise: "What a live server of the cluster serves is never called unknown.",
    onAnswer(answer) {
      const { question, unknown } = answer;
      if (unknown !== "resource") return NOTHING;
      const { resource, target, serverId } = question;
      const server =
        resource === undefined
          ? runs.filter(isThere(answer, 0)).find((run) => servesPath(run, target))
          : runs.filter(isThere(answer, graceMs)).find((run) => run.served.has(resource));
      if (server === undefined) return NOTHING;
      const { serverId: holder, release, endedAtMs } = server;
      const since = endedAtMs === undefined ? "" : `, until ${(endedAtMs / 1000).toFixed(3)} s`;
      return [`${serverId} called ${target} unknown, which ${holder} (${release}) served${since}: ${answer.message}`];
    },
  };
}

/** Discovery documents of groups: /apis/<group> and /apis/<group>/<version>. */
function servesPath({ served }: Run, path: string): boolean {
  const [, root, ...rest] = path.split("/");
  if (root !== "apis" || rest.length === 0) return false;
  if (rest.length === 1) return served.hasGroup(rest[0]!);
  const { group, version } = parseGroupVersion(rest.join("/"));
  return served.hasGroupVersion(group, version);
}
