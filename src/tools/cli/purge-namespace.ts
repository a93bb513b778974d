/** `evenkeel purge-namespace`: lists and removes the objects of a terminating namespace that no server serves. */
import { createInterface } from "node:readline/promises";
import { Command } from "commander";
import { printable } from "../../base/printable.ts";
import { objectsAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { numberOrZero } from "./request-report.ts";
import { requestJson, withServerFlags, type ServerFlags } from "./request-server.ts";
import { CommandFailure } from "./failure.ts";

interface PurgeFlags extends ServerFlags {
  readonly yes?: true;
}

const NOT_REMOVED = 1;
const USAGE = 2;

export function purgeNamespaceCommand(): Command {
  return withServerFlags(
    new Command("purge-namespace")
      .summary("Remove unserved objects from a terminating namespace")
      .description(
        "List the stored objects of a terminating namespace that no server serves and, after confirmation, remove them. " +
          "Objects that a live or recently departed server serves are kept.",
      )
      .argument("<namespace>", "a terminating namespace")
      .option("--yes", "remove the listed objects without confirmation"),
  ).action((namespace: string, flags: PurgeFlags) => purgeNamespace(namespace, flags));
}

async function purgeNamespace(namespace: string, flags: PurgeFlags): Promise<void> {
  const isJson = flags.output === "json";
  for (let isFirst = true; ; isFirst = false) {
    const leftovers = await requestJson(flags, purgePath(namespace));
    const token = stringAt(leftovers, "token");
    if (!isJson || flags.yes === undefined || token === "") print(leftovers, isJson ? json : leftoversText);
    if (token === "") {
      if (isFirst && objectsAt(leftovers, "kept").length > 0) process.exitCode = NOT_REMOVED;
      return;
    }
    if (flags.yes === undefined && (isJson || !(await isConfirmed(leftovers))))
      throw new CommandFailure("nothing was removed", NOT_REMOVED);
    const purged = await requestJson(flags, purgePath(namespace, token), "POST");
    print(purged, isJson ? json : purgedText);
    // The list may be truncated; the next one contains the remaining objects.
    if (numberOrZero(purged, "more") === 0) return;
  }
}

function print(response: JsonObject, toText: (answer: JsonObject) => string): void {
  process.stdout.write(toText(response));
}

function json(answer: JsonObject): string {
  return `${JSON.stringify(answer, undefined, 2)}\n`;
}

export function purgePath(namespace: string, token?: string): string {
  const query = new URLSearchParams({ namespace, ...(token === undefined ? {} : { token }) });
  return `/evenkeel/v1/purge-namespace?${query.toString()}`;
}

const NAMES_MAX = 50;

export function leftoversText(leftovers: JsonObject): string {
  const keys = objectsAt(leftovers, "keys");
  const kept = objectsAt(leftovers, "kept");
  const namespace = text(leftovers, "namespace");
  const total = keys.length + numberOrZero(leftovers, "more");
  if (total === 0 && kept.length === 0) return `The store has no objects of namespace ${namespace}.\n`;
  const names = keys.slice(0, NAMES_MAX).map((key) => `  ${text(key, "resource")} ${text(key, "name")}\n`);
  const hidden = total - names.length;
  const listed =
    total === 0
      ? `None of the remaining objects of namespace ${namespace} can be removed.\n`
      : `Namespace ${namespace} has ${objects(total)} that no server serves:\n${names.join("")}${hidden > 0 ? `  and ${hidden} more\n` : ""}`;
  const others = kept.map(
    (one) => `  ${numberOrZero(one, "objects")} ${text(one, "resource")}: ${text(one, "because")}\n`,
  );
  return listed + (others.length === 0 ? "" : `Kept:\n${others.join("")}`);
}

export function purgedText(purged: JsonObject): string {
  const changed = numberOrZero(purged, "changed");
  const note = changed === 0 ? "" : `; kept ${changed} that changed after they were listed`;
  return `Removed ${objects(numberOrZero(purged, "removed"))} of namespace ${text(purged, "namespace")}${note}.\n`;
}

async function isConfirmed(leftovers: JsonObject): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new CommandFailure("confirmation needs a terminal: use --yes to remove the objects without it", USAGE);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const count = objectsAt(leftovers, "keys").length;
    const response = await terminal.question(
      `Remove ${count === 1 ? "this" : "these"} ${objects(count)} permanently, ignoring finalizers? [y/N] `,
    );
    return /^y(es)?$/i.test(response.trim());
  } finally {
    terminal.close();
  }
}

function objects(count: number): string {
  return `${count} ${count === 1 ? "object" : "objects"}`;
}

function text(parent: JsonObject, key: string): string {
  return printable(stringAt(parent, key));
}
