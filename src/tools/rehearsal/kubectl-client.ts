/** A client that behaves like users of kubectl: it discovers, lists, creates, reads, changes and deletes objects. */
import { randomInteger, randomItem } from "../../base/random.ts";
import { resourcePath } from "../../client/paths.ts";
import { formatGroupVersion } from "../../meta/group-version.ts";
import { pickTarget, pickVersion, type LoadContext } from "./load.ts";
import { pathOfEntry, type Session } from "./session.ts";
import { resourceTypeOf, type LoadTarget } from "./targets.ts";

const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;q=0.9";
const NAMESPACE = "default";
/** Maximum number of objects per resource and client; before creating more, the client deletes one. */
const OBJECTS_MAX = 6;
const MARKS_MAX = 10;

export class KubectlClient {
  readonly #context: LoadContext;
  readonly #session: Session;
  /** Resources whose objects the servers reject, so that the client only reads them. */
  readonly #readOnly = new Set<LoadTarget>();
  #made = 0;

  constructor(context: LoadContext, session: Session) {
    this.#context = context;
    this.#session = session;
  }

  async once(): Promise<unknown> {
    const { random } = this.#session;
    const target = pickTarget(random, this.#context.targets);
    const version = pickVersion(random, target, this.#context.isServed);
    const kind = randomInteger(random, 20);
    if (kind < 2) return this.#discover();
    if (kind < 3) return this.#session.request("GET", groupVersionPath(target, version));
    if (kind < 7) return this.#list(target, version);
    if (kind < 11) return this.#make(target, version);
    if (kind < 13) return this.#remove(target, version);
    if (kind < 16) return this.#change(target, version);
    return this.#read(target, version);
  }

  async #discover(): Promise<void> {
    for (const root of ["/api", "/apis"]) await this.#session.request("GET", root, { accept: AGGREGATED });
  }

  #list(target: LoadTarget, version: string): Promise<unknown> {
    const isEverywhere = randomInteger(this.#session.random, 2) === 0;
    const place = target.namespaced && !isEverywhere ? { namespace: NAMESPACE } : {};
    return this.#session.request("GET", resourcePath(resourceTypeOf(target, version), place));
  }

  async #make(target: LoadTarget, version: string): Promise<void> {
    if (target.use === "read" || this.#readOnly.has(target)) return void (await this.#list(target, version));
    const { name: client } = this.#session;
    const own = this.#context.ledger.present(target).filter(({ name }) => name.startsWith(`${client}-`));
    if (own.length >= OBJECTS_MAX) return this.#remove(target, version);
    const name = `${client}-${++this.#made}`;
    const entry = await this.#session.create({ target, version, namespace: NAMESPACE, name });
    const wasRejected = this.#context.ledger.find({ ...target, namespace: namespaceOf(target), name }) === undefined;
    if (entry === undefined && wasRejected && this.#context.isServed(target, version)) this.#readOnly.add(target);
  }

  async #remove(target: LoadTarget, version: string): Promise<void> {
    const entry = this.#pickEntry(target);
    if (entry !== undefined) await this.#session.delete(entry, pathOfEntry(entry, target, version), "Background");
  }

  async #change(target: LoadTarget, version: string): Promise<void> {
    const entry = this.#pickEntry(target);
    if (entry === undefined || entry.marks.length >= MARKS_MAX) return;
    const how = randomInteger(this.#session.random, 2) === 0 ? "patch" : "replace";
    await this.#session.mark(entry, pathOfEntry(entry, target, version), how);
  }

  async #read(target: LoadTarget, version: string): Promise<void> {
    const there = this.#context.ledger.present(target);
    if (there.length === 0) return void (await this.#list(target, version));
    await this.#session.request("GET", pathOfEntry(randomItem(this.#session.random, there), target, version));
  }

  /**
   * Picks an object that a kubectl client has created. Owners, dependents and content of namespaces belong to other
   * clients.
   */
  #pickEntry(target: LoadTarget): ReturnType<LoadContext["ledger"]["present"]>[number] | undefined {
    const there = this.#context.ledger.present(target).filter(({ name }) => name.startsWith("kubectl-"));
    return there.length === 0 ? undefined : randomItem(this.#session.random, there);
  }
}

function namespaceOf({ namespaced }: LoadTarget): string {
  return namespaced ? NAMESPACE : "";
}

function groupVersionPath({ group }: LoadTarget, version: string): string {
  return group === "" ? `/api/${version}` : `/apis/${formatGroupVersion({ group, version })}`;
}
