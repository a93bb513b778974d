/** Examines every stored value once: how it is stored, who wrote it, who owns it, and in which namespace it is. */
import { MAGIC } from "../../../../objects/protobuf/decode.ts";
import type { StoredItem } from "../../stored-data.ts";
import type { UnreadableValue } from "../inspection.ts";
import { ByteStrings, OTHERS_ID } from "../scan/byte-strings.ts";
import { JsonScan } from "../scan/json-scan.ts";
import { ABSENT, ObjectHead } from "../scan/object-head.ts";
import { ProtobufScan } from "../scan/protobuf-scan.ts";
import { isEncryptedValue, type EncryptedValues } from "./encrypted-values.ts";
import { Largest } from "./largest.ts";
import { NamespaceCounts } from "./namespaces.ts";
import { Owners } from "./owners.ts";
import { bounded, ResourceStats, subjectName, type LocatedKey } from "./resource-stats.ts";
import { collectSpecial, createSpecialObjects } from "./special-objects.ts";
import { Writers } from "./writers.ts";

const UNREADABLE_MAX = 1_000;
const LARGEST_MAX = 20;
const SERVICES_MAX = 20_000;
const API_VERSION = /^(?:[a-z0-9][a-z0-9.-]{0,252}\/)?[a-z0-9-]{1,63}$/;
const OPEN_OBJECT = 0x7b;

const NO_TYPE = "the value has no valid apiVersion or no kind";

export class ValueCollector {
  readonly strings = new ByteStrings();
  /** Of apiVersions and kinds of objects. */
  readonly types = new ByteStrings();
  readonly head = new ObjectHead(this.types, this.strings);
  readonly resources: ResourceStats;
  readonly writers = new Writers();
  readonly owners = new Owners();
  readonly namespaces = new NamespaceCounts();
  readonly special = createSpecialObjects();
  readonly largest = new Largest<string>(LARGEST_MAX);
  readonly unreadable: UnreadableValue[] = [];
  unreadableCount = 0;
  objects = 0;
  privateKeys = 0;
  readonly #services = new Set<string>();
  readonly #encrypted: EncryptedValues;
  readonly #protobuf = new ProtobufScan();
  readonly #json = new JsonScan();
  /** By ID of an apiVersion: 1 if it is valid, 2 if not. */
  readonly #validity = new Uint8Array(65_536);

  constructor(prefix: string, encrypted: EncryptedValues) {
    this.resources = new ResourceStats(prefix);
    this.#encrypted = encrypted;
  }

  visit(item: StoredItem): void {
    const { key, value } = item;
    const located = this.resources.locate(key);
    if (located === undefined) {
      this.privateKeys++;
      return;
    }
    const { stat } = located;
    const bytes = key.length + value.length;
    stat.objects++;
    stat.bytes += bytes;
    if (this.largest.accepts(bytes)) this.largest.add(bytes, subjectName(located));
    this.#countPlace(located);
    const clear = this.#encrypted.open(value, key, stat);
    if (isEncryptedValue(value)) stat.encrypted++;
    if (clear === undefined) {
      stat.sealed++;
      return;
    }
    const problem = this.scan(clear);
    if (problem !== undefined) return this.#addUnreadable(item, located, problem);
    if (clear === value) {
      if (clear[0] === OPEN_OBJECT) stat.json++;
      else stat.protobuf++;
    }
    this.#countObject(located, clear, bytes);
  }

  /** Fills `head` from a value in clear. Returns why it cannot be read; undefined if it was read. */
  scan(value: Buffer): string | undefined {
    const { head } = this;
    const isJson = value[0] === OPEN_OBJECT;
    if (!isJson && !hasMagic(value))
      return value.length === 0 ? "the value is empty" : "the value is neither protobuf nor a JSON object";
    const problem = isJson ? this.#json.scan(value, head) : this.#protobuf.scan(value, head);
    if (problem !== undefined) return problem;
    if (!this.#isValidVersion(head.apiVersion)) return NO_TYPE;
    return head.kind === ABSENT || this.types.textOf(head.kind) === "" ? NO_TYPE : undefined;
  }

  /** Undefined if there were too many Services to know. */
  hasService(name: string): boolean | undefined {
    if (this.#services.has(name)) return true;
    return this.#services.size < SERVICES_MAX ? false : undefined;
  }

  #countPlace({ stat, namespace, name }: LocatedKey): void {
    if (namespace !== "") this.namespaces.count(namespace);
    if (stat.group !== "" || stat.place === undefined) return;
    if (stat.resource === "namespaces") this.namespaces.exists(name);
    else if (stat.resource === "services" && this.#services.size < SERVICES_MAX)
      this.#services.add(bounded(`${namespace}/${name}`));
  }

  #countObject(located: LocatedKey, clear: Buffer, bytes: number): void {
    const { head } = this;
    this.objects++;
    this.resources.countVersion(located, head.apiVersion);
    this.writers.count(head, located.stat.id, bytes);
    this.owners.count(head);
    collectSpecial(this.special, located, { value: clear, isDeleting: head.isDeleting });
  }

  #addUnreadable({ key }: StoredItem, { stat }: LocatedKey, reason: string): void {
    stat.unreadable++;
    this.unreadableCount++;
    if (this.unreadable.length < UNREADABLE_MAX) this.unreadable.push({ key: bounded(key), reason });
  }

  #isValidVersion(id: number): boolean {
    if (id === ABSENT) return false;
    if (id === OTHERS_ID) return true;
    if (this.#validity[id] === 0) this.#validity[id] = API_VERSION.test(this.types.textOf(id)) ? 1 : 2;
    return this.#validity[id] === 1;
  }
}

/** As `isProtobufEnvelope`, without a call of native code for each value. */
function hasMagic(value: Buffer): boolean {
  for (let at = 0; at < MAGIC.length; at++) if (value[at] !== MAGIC[at]) return false;
  return true;
}
