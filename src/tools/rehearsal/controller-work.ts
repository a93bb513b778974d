/**
 * Gives the garbage collector and the namespace controller work: creates and later deletes owners with dependents, and
 * namespaces with content.
 */
import { sleep } from "../../base/clock.ts";
import { randomInteger, randomItem } from "../../base/random.ts";
import { formatGroupVersion } from "../../meta/group-version.ts";
import { pickTarget, pickVersion, type LoadContext } from "./load.ts";
import { pathOfEntry, type Session } from "./session.ts";
import type { LoadTarget } from "./targets.ts";

export interface WorkCounts {
  ownersDeleted: number;
  namespacesDeleted: number;
}

export interface ControllerWorkOptions {
  readonly context: LoadContext;
  readonly session: Session;
  readonly counts: WorkCounts;
  /** Maximum time between creation and deletion. */
  readonly restMsMax: number;
}

const POLICIES = ["Background", "Background", "Foreground", "Orphan"] as const;
const DEPENDENTS_MAX = 3;
const CONTENT_MAX = 4;
const NAMESPACES: LoadTarget = {
  group: "",
  resource: "namespaces",
  kind: "Namespace",
  namespaced: false,
  storagePrefix: "namespaces",
  versions: ["v1"],
  use: "all",
  bodies: new Map(),
  weight: 1,
  isCustom: false,
};

/** Creates an owner and its dependents, waits, and deletes the owner. */
export async function ownAndDelete(options: ControllerWorkOptions, number: number, signal: AbortSignal): Promise<void> {
  const { context, session, counts } = options;
  const { random } = session;
  const target = pickTarget(random, ownable(context));
  const version = pickVersion(random, target, context.isServed);
  const name = `${session.name}-${number}`;
  const entry = await session.create({ target, version, namespace: "default", name });
  if (entry === undefined) return;
  const owner = { entry, apiVersion: formatGroupVersion({ group: target.group, version }), kind: target.kind };
  for (let index = 1 + randomInteger(random, DEPENDENTS_MAX); index > 0; index--) {
    const owned = pickTarget(
      random,
      ownable(context).filter(({ namespaced }) => namespaced || !target.namespaced),
    );
    const ownedVersion = pickVersion(random, owned, context.isServed);
    await session.create({
      target: owned,
      version: ownedVersion,
      namespace: "default",
      name: `${name}-owns-${index}`,
      owner,
    });
  }
  if (!(await rest(options, signal))) return;
  const path = pathOfEntry(entry, target, pickVersion(random, target, context.isServed));
  if (await session.delete(entry, path, randomItem(random, POLICIES))) counts.ownersDeleted++;
}

/** Creates a namespace with objects of all targets, waits, and deletes the namespace. */
export async function fillAndDelete(
  options: ControllerWorkOptions,
  number: number,
  signal: AbortSignal,
): Promise<void> {
  const { context, session, counts } = options;
  const { random } = session;
  const namespace = await session.create({
    target: NAMESPACES,
    version: "v1",
    namespace: "",
    name: `${session.name}-${number}`,
  });
  if (namespace === undefined) return;
  const namespaced = ownable(context).filter((target) => target.namespaced);
  for (let index = 1 + randomInteger(random, CONTENT_MAX); index > 0; index--) {
    const target = pickTarget(random, namespaced);
    const version = pickVersion(random, target, context.isServed);
    await session.create({ target, version, namespace: namespace.name, name: `content-${index}` });
  }
  if (!(await rest(options, signal))) return;
  if (await session.delete(namespace, pathOfEntry(namespace, NAMESPACES, "v1"), "Background"))
    counts.namespacesDeleted++;
}

function ownable({ targets }: LoadContext): LoadTarget[] {
  return targets.filter(({ use }) => use === "all");
}

function rest({ context, session, restMsMax }: ControllerWorkOptions, signal: AbortSignal): Promise<boolean> {
  return sleep(context.clock, session.random.float() * restMsMax, signal);
}
