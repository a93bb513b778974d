/** Counts the objects that each field manager has written, and the API versions through which it wrote them. */
import type { ObjectHead } from "../scan/object-head.ts";

/** Of one manager, to one resource, through one API version. The rest counts toward manager 0, "(others)". */
const WRITERS_MAX = 50_000;
/** More than `ByteStrings` has strings and `ResourceStats` has resources. */
const IDS_MAX = 32_768;
const MANAGERS_MAX = 10_000;

export interface WriterStat {
  readonly manager: number;
  readonly apiVersion: number;
  readonly resource: number;
  objects: number;
  /** Seconds since 1970; 0 if unknown. */
  last: number;
  /** The last object that was counted, so that two entries of one object count once. */
  seen: number;
}

interface ManagerStat {
  readonly manager: number;
  objects: number;
  bytes: number;
  seen: number;
}

export class Writers {
  readonly #writers = new Map<number, WriterStat>();
  readonly #managers = new Map<number, ManagerStat>();
  #objects = 0;
  #newest = 0;

  get writers(): readonly WriterStat[] {
    return [...this.#writers.values()];
  }

  get managers(): readonly ManagerStat[] {
    return [...this.#managers.values()];
  }

  /** The newest time of all entries, in seconds since 1970. */
  get newest(): number {
    return this.#newest;
  }

  count(head: ObjectHead, resource: number, bytes: number): void {
    const object = ++this.#objects;
    for (let entry = 0; entry < head.entries; entry++) {
      const manager = head.managers[entry]!;
      const time = head.times[entry]!;
      if (time > this.#newest) this.#newest = time;
      this.#countManager(manager, object, bytes);
      const writer = this.#writerOf(manager, head.managerVersions[entry]!, resource);
      if (writer.seen !== object) writer.objects++;
      writer.seen = object;
      if (time > writer.last) writer.last = time;
    }
  }

  #countManager(manager: number, object: number, bytes: number): void {
    const known = this.#managers.get(manager);
    const id = known !== undefined || this.#managers.size < MANAGERS_MAX ? manager : 0;
    let stat = known ?? this.#managers.get(id);
    if (stat === undefined) this.#managers.set(id, (stat = { manager: id, objects: 0, bytes: 0, seen: 0 }));
    if (stat.seen === object) return;
    stat.seen = object;
    stat.objects++;
    stat.bytes += bytes;
  }

  #writerOf(manager: number, apiVersion: number, resource: number): WriterStat {
    // All three are small, so the key is a safe integer.
    const key = (manager * IDS_MAX + apiVersion) * IDS_MAX + resource + 1;
    const known = this.#writers.get(key);
    if (known !== undefined) return known;
    if (this.#writers.size >= WRITERS_MAX && key !== 0) return this.#writerOf(0, 0, -1);
    const added = { manager, apiVersion, resource, objects: 0, last: 0, seen: 0 };
    this.#writers.set(key, added);
    return added;
  }
}
